// RUN: fovea-translate %s --launch-abi-to-metadata -split-input-file -verify-diagnostics

gpu.module @not_final {
  gpu.func @k(%q: memref<?x64xbf16>) kernel {
    gpu.return
  }
  // expected-error @below {{parameter #0 of 'k' is still #launch.memref<"q", [0, 1]>; launch metadata needs parameters that a host can pass}}
  launch.abi @k target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 128, min_blocks = 2, dots = [<"s", a_in_registers>]>)
    tensors([#launch.tensor<"q", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
}

// -----

// expected-error @below {{expected one kernel with 'launch.abi', found 0}}
module {
}
