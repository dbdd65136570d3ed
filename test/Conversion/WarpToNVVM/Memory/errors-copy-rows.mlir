// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sync-lanes),warp-to-nvvm))' --verify-diagnostics

!k = memref<?x96xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @roles target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x96xbf16>, ["T", "D"], 16>, #launch.tensor<"kc", update, tensor<?x96xbf16>, ["T", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"kc", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @roles(%k: !k, %kc: !k) kernel {
    %c1 = arith.constant 1 : index
    // expected-error@+2 {{is not supported in kernels with roles}}
    // expected-error@+1 {{failed to legalize operation 'tile.copy_rows'}}
    tile.copy_rows %k[%c1] to %kc[%c1] : !k to !k
    warp.specialize
      role @load warps(4) regs(24) { warp.return }
      role @compute warps(8) regs(240) { warp.return }
    gpu.return
  }
}
