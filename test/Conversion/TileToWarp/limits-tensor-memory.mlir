// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' | FileCheck %s

// Rows past the limit are zeroed before the dot into tensor memory.
// CHECK-LABEL: gpu.func @f
// CHECK: warp.copy "v" {{.*}} to %[[V:.*]] : memref<?x32xbf16
// CHECK: scf.if
// CHECK-NEXT: warp.zero_rows %[[V]] from
// CHECK-NEXT: }
// CHECK: warp.dot_into "s" %{{.*}}, %[[V]], %
!memory = memref<?x32xbf16, strided<[?, 1]>>
!operand = tensor<128x32xbf16, #tile.reg>
!block = tensor<64x32xbf16, #tile.reg>
!score = tensor<128x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       streams = [<"q">],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%K: !memory, %n: index) kernel {
    %zero = arith.constant dense<0.0> : !score
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !operand
    %v = tile.load "v" %K[%c0, %c0] limit(%n) dims [0, 1] : !memory to !block
    %s = tile.dot "s" %q, %v, %zero transpose_b : !operand, !block, !score
    gpu.return
  }
}
