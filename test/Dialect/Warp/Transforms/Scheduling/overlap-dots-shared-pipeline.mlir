// A pipeline op that serves two operands can't move with each of them: the dots stay, which is an
// error for a user-specified option.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-overlap-dots)))'

// One pipeline for the rings of both operands.
!memory = memref<?x32xbf16, strided<[?, 1]>>
!operand = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!ring = memref<2x128x32xbf16, #warp.shared<row_bytes = 64>>
!acc = memref<128x128xf32, #warp.tmem>
!tile = tensor<128x128xf32, #tile.reg>
!one = !warp.pipeline<1>
!two = !warp.pipeline<2>
gpu.module @m {
  launch.abi @one_pipeline target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, tile_n = 128, row_tiles = 1,
       dots = [<"s", ahead = 1>],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>],
       asked = ["overlap"]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @one_pipeline(%k: !memory) kernel {
    %no = arith.constant false
    %z = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %lefts = warp.alloc : !ring
    %rights = warp.alloc : !ring
    %s = warp.tmem_alloc column(0) : !acc
    %ps = warp.pipeline "s" : !one
    %pk = warp.pipeline "k" : !two
    // expected-error @+1 {{schedule's 'overlap' is user-specified but cannot be applied}}
    scf.for %j = %c0 to %c4 step %c1 {
      %left = warp.stage %lefts[%z] : !ring to !operand
      %right = warp.stage %rights[%z] : !ring to !operand
      warp.producer_acquire %pk[%z, %z] : !two
      warp.copy async "k" %k[%j, %c0] dims [0, 1] to %left : !memory to !operand
      warp.copy async "k" %k[%j, %c0] dims [0, 1] to %right : !memory to !operand
      warp.producer_commit %pk[%z, %z] : !two
      warp.consumer_wait %pk[%z, %z] : !two
      warp.producer_acquire %ps[%z, %z] : !one
      warp.dot_into "s" %left, %right, %s accumulate(%no) transpose_b : !operand, !operand, !acc
      warp.commit_after_dots %ps[%z, %z] : !one
      warp.release_after_dots %pk[%z, %z] : !two
      warp.consumer_wait %ps[%z, %z] : !one
      %x = warp.tmem_load %s : !acc to !tile
      warp.consumer_release %ps[%z, %z] : !one
    }
    gpu.return
  }
}
