// An ABI describes a kernel that exists.
// RUN: %reject %s

gpu.module @m {
  // expected-error @+1 {{no kernel is named 'missing'}}
  launch.abi @missing target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 128, min_blocks = 2>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
}
