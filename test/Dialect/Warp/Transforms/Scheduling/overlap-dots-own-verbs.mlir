// Dots with pipeline ops of their own move, each with its pipeline ops.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-overlap-dots)))' | FileCheck %s

// Pipeline ops of their own: the dots move.
// CHECK-LABEL: gpu.func @apart
// CHECK: warp.dot_into "s.0"
// CHECK: warp.dot_into "s.1"
// CHECK: scf.for
// CHECK: scf.if
// CHECK: warp.dot_into "s.0"
// CHECK: scf.if
// CHECK: warp.dot_into "s.1"
!memory = memref<?x32xbf16, strided<[?, 1]>>
!operand = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!acc = memref<128x128xf32, #warp.tmem>
!tile = tensor<128x128xf32, #tile.reg>
!one = !warp.pipeline<1>
gpu.module @m {
  launch.abi @apart target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, tile_n = 128, row_tiles = 1,
       dots = [<"s", ahead = 1>],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>],
       asked = ["overlap"]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @apart(%k: !memory) kernel {
    %no = arith.constant false
    %z = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %q = warp.alloc : !operand
    %s0 = warp.tmem_alloc column(0) : !acc
    %s1 = warp.tmem_alloc column(128) : !acc
    %p0 = warp.pipeline "s.0" : !one
    %p1 = warp.pipeline "s.1" : !one
    scf.for %j = %c0 to %c4 step %c1 {
      warp.producer_acquire %p0[%z, %z] : !one
      warp.dot_into "s.0" %q, %q, %s0 accumulate(%no) transpose_b : !operand, !operand, !acc
      warp.commit_after_dots %p0[%z, %z] : !one
      warp.producer_acquire %p1[%z, %z] : !one
      warp.dot_into "s.1" %q, %q, %s1 accumulate(%no) transpose_b : !operand, !operand, !acc
      warp.commit_after_dots %p1[%z, %z] : !one
      warp.consumer_wait %p0[%z, %z] : !one
      %x0 = warp.tmem_load %s0 : !acc to !tile
      warp.consumer_release %p0[%z, %z] : !one
      warp.consumer_wait %p1[%z, %z] : !one
      %x1 = warp.tmem_load %s1 : !acc to !tile
      warp.consumer_release %p1[%z, %z] : !one
    }
    gpu.return
  }
}
