// A schedule's sizes are positive.
// RUN: %reject %s

gpu.module @m {
  tile.abi @missing target("sm_80")
    // expected-error @+1 {{must be}}
    schedule(<tile_m = -128, tile_n = 64, warps = 4, stages = 2, query_in_registers = 0, min_blocks = 2>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
}
