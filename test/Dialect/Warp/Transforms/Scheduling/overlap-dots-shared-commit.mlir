// A pipeline op that serves two dots can't move with each of them: they stay, which is an error for
// a user-specified option.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-overlap-dots)))'

// One commit after two dots.
!operand = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!acc = memref<128x128xf32, #warp.tmem>
!tile = tensor<128x128xf32, #tile.reg>
!one = !warp.pipeline<1>
gpu.module @m {
  launch.abi @one_commit target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, tile_n = 128, row_tiles = 1,
       dots = [<"s", ahead = 1>],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>],
       asked = ["overlap"]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @one_commit() kernel {
    %no = arith.constant false
    %z = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %q = warp.alloc : !operand
    %s0 = warp.tmem_alloc column(0) : !acc
    %s1 = warp.tmem_alloc column(128) : !acc
    %p = warp.pipeline "s" : !one
    // expected-error @+1 {{schedule's 'overlap' is user-specified but cannot be applied}}
    scf.for %j = %c0 to %c4 step %c1 {
      warp.producer_acquire %p[%z, %z] : !one
      warp.dot_into "s.0" %q, %q, %s0 accumulate(%no) transpose_b : !operand, !operand, !acc
      warp.dot_into "s.1" %q, %q, %s1 accumulate(%no) transpose_b : !operand, !operand, !acc
      warp.commit_after_dots %p[%z, %z] : !one
      warp.consumer_wait %p[%z, %z] : !one
      %x0 = warp.tmem_load %s0 : !acc to !tile
      %x1 = warp.tmem_load %s1 : !acc to !tile
      warp.consumer_release %p[%z, %z] : !one
    }
    gpu.return
  }
}
