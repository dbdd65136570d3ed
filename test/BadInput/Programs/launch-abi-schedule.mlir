// A schedule's sizes are positive.
// RUN: %reject %s

gpu.module @m {
  launch.abi @missing target("sm_80")
    // expected-error @+1 {{must be}}
    plan(<#warp.mma_sync_unit, tile_m = -128, min_blocks = 2>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
}
