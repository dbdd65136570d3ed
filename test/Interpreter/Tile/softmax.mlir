// Two halves of the keys, merged, give the softmax over all keys: the scores
// are the logarithms of 1, 2, 4, so o = (1 * 1 + 2 * 2 + 4 * 4) / 7 and lse =
// log(7). The second row has no keys.
// RUN: %python %S/../Inputs/npy.py write %t.s.npy f32 "[[0, np.log(2), np.log(4), -np.inf], [-np.inf] * 4]"
// RUN: %python %S/../Inputs/npy.py write %t.v.npy f16 "[[1], [2], [4], [9]]"
// RUN: fovea-run %s --inputs %t.s.npy %t.v.npy --outputs %t.o.npy %t.lse.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy %t.lse.npy | FileCheck %s

// CHECK: shape 2 1
// CHECK-NEXT: 3
// CHECK-NEXT: 0
// CHECK: shape 2
// CHECK-NEXT: 1.94591 -inf
!row = tensor<2x1xf32, #tile.reg>
gpu.module @m {
  gpu.func @f(%s: memref<2x4xf32>, %v: memref<4x1xf16>, %o: memref<2x1xf32>, %lse: memref<2xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %m0, %l0, %acc0 = tile.softmax_sum %c0 to %c2 step 2 full(%c0, %c2) scale(1.0)
      scores(%j: index, %partial: i1) {
        %x = tile.load %s[%c0, %j] dims [0, 1] : memref<2x4xf32> to tensor<2x2xf32, #tile.reg>
        tile.yield %x : tensor<2x2xf32, #tile.reg>
      }
      values(%j: index) {
        %x = tile.load %v[%j, %c0] dims [0, 1] : memref<4x1xf16> to tensor<2x1xf16, #tile.reg>
        tile.yield %x : tensor<2x1xf16, #tile.reg>
      } : !row, !row
    %m1, %l1, %acc1 = tile.softmax_sum %c2 to %c4 step 1 full(%c2, %c2) scale(1.0)
      scores(%j: index, %partial: i1) {
        %x = tile.load %s[%c0, %j] dims [0, 1] : memref<2x4xf32> to !row
        tile.yield %x : !row
      }
      values(%j: index) {
        %x = tile.load %v[%j, %c0] dims [0, 1] : memref<4x1xf16> to tensor<1x1xf16, #tile.reg>
        tile.yield %x : tensor<1x1xf16, #tile.reg>
      } : !row, !row
    %m, %l, %acc = tile.softmax_merge (%m0, %l0, %acc0), (%m1, %l1, %acc1) : !row, !row, !row
    %out, %ls = tile.softmax_finish %m, %l, %acc : !row, !row
    tile.store %out, %o[%c0, %c0] dims [0, 1] : !row, memref<2x1xf32>
    tile.store %ls, %lse[%c0] dims [0, -1] : !row, memref<2xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"s", read, tensor<2x4xf32>, ["M", "N"], 4>, #launch.tensor<"v", read, tensor<4x1xf16>, ["N", "D"], 2>,
             #launch.tensor<"o", write, tensor<2x1xf32>, ["M", "D"], 4>, #launch.tensor<"lse", write, tensor<2xf32>, ["M"], 4>])
    parameters([#launch.memref<"s", [0, 1]>, #launch.memref<"v", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.memref<"lse", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
