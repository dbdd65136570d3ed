// RUN: fovea-opt %s --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-work)))'

gpu.module @kernels {
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, warps = 1, stages = 1, work = static>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0) persistent(1)
  gpu.func @f(%n: index) kernel {
    // expected-error@+1 {{has schedule 'static', which needs roles: expected a plan with 'producer_registers'}}
    tile.foreach_work %w to %n schedule(static) {
    }
    gpu.return
  }
}
