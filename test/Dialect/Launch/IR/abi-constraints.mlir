// RUN: fovea-opt %s -split-input-file -verify-diagnostics -o /dev/null

gpu.module @unknown_size {
  gpu.func @k() kernel {
    gpu.return
  }
  // expected-error @below {{no dimension is named 'T', found in #launch.multiple<"S", of "T">}}
  launch.abi @k target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 128, min_blocks = 2, dots = [<"s", a_in_registers>]>)
    tensors([#launch.tensor<"q", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
    constraints([#launch.multiple<"S", of "T">])
}

// -----

gpu.module @no_constraint {
  gpu.func @k() kernel {
    gpu.return
  }
  // expected-error @below {{expected constraint attributes, found 3}}
  launch.abi @k target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 128, min_blocks = 2, dots = [<"s", a_in_registers>]>)
    tensors([#launch.tensor<"q", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
    constraints([3])
}

// -----

// expected-error @below {{limit of size 'S' must not be negative, found -1}}
#limit = #launch.at_most<"S", -1>

// -----

// expected-error @below {{limit of size 'S' must not be negative, found -2}}
#least = #launch.at_least<"S", -2>

// -----

// expected-error @below {{block size of size 'N' must be positive, found 0}}
#covers = #launch.covers<"N", block = 0, of "S">

// -----

gpu.module @unknown_cover {
  gpu.func @k() kernel {
    gpu.return
  }
  // expected-error @below {{no dimension is named 'N', found in #launch.covers<"N", block = 64, of "S">}}
  launch.abi @k target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 128, min_blocks = 2, dots = [<"s", a_in_registers>]>)
    tensors([#launch.tensor<"q", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
    constraints([#launch.at_least<"S", 1>, #launch.covers<"N", block = 64, of "S">])
}

// -----

gpu.module @unknown_smaller_size {
  gpu.func @k() kernel {
    gpu.return
  }
  // expected-error @below {{no dimension is named 'N', found in #launch.one_more<"S", than "N">}}
  launch.abi @k target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 128, min_blocks = 2, dots = [<"s", a_in_registers>]>)
    tensors([#launch.tensor<"q", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
    constraints([#launch.one_more<"S", than "N">])
}
