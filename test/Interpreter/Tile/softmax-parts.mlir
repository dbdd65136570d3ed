// Two accumulators over columns of one tile of values, whose last column is none's; blocks in
// two sums whose states are merged; before and after fusion, for all recurrences. The scores
// are the logarithms of 1, 2, 4, so o[0] = (1 * 1 + 2 * 2 + 4 * 4) / 7, lse = log(7). The
// second row has no keys.
// RUN: %python %S/../Inputs/npy.py write %t.s.npy f32 "[[0, np.log(2), np.log(4), -np.inf], [-np.inf] * 4]"
// RUN: %python %S/../Inputs/npy.py write %t.v.npy f16 "[[1, 7, 14, np.nan], [2, 7, 0, np.nan], [4, 7, 0, np.nan], [9, 9, 9, np.nan]]"
// DEFINE: %{recurrence} =
// DEFINE: %{run} = fovea-run %t.mlir --inputs %t.s.npy %t.v.npy --outputs %t.o.npy %t.lse.npy && \
// DEFINE:   %python %S/../Inputs/npy.py print %t.o.npy %t.lse.npy | FileCheck %s
// DEFINE: %{fused} = fovea-opt %s -o %t.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=%{recurrence}})))' && %{run}
// RUN: cp %s %t.mlir && %{run}
// REDEFINE: %{recurrence} = three-pass
// RUN: %{fused}
// REDEFINE: %{recurrence} = normalized
// RUN: %{fused}
// REDEFINE: %{recurrence} = deferred
// RUN: %{fused}
// REDEFINE: %{recurrence} = conditional
// RUN: %{fused}
// REDEFINE: %{recurrence} = lazy
// RUN: %{fused}

// CHECK: shape 2 3
// CHECK-NEXT: 3 7 2
// CHECK-NEXT: 0 0 0
// CHECK: shape 2
// CHECK-NEXT: 1.94591 -inf
!row = tensor<2x1xf32, #tile.reg>
!wide = tensor<2x2xf32, #tile.reg>
!values = tensor<2x4xf16, #tile.reg>
gpu.module @m {
  gpu.func @f(%s: memref<2x4xf32>, %v: memref<4x4xf16>, %o: memref<2x3xf32>, %lse: memref<2xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %m0, %l0, %acc0:2 = tile.softmax_sum %c0 to %c2 step 2 full(%c0, %c2) scale(1.0)
      scores(%j: index, %partial: i1) {
        %x = tile.load %s[%c0, %j] dims [0, 1] : memref<2x4xf32> to !wide
        tile.yield %x : !wide
      }
      values(%j: index) {
        %x = tile.load %v[%j, %c0] dims [0, 1] : memref<4x4xf16> to !values
        tile.yield %x : !values
      } : !row, !wide, !row
    %m1, %l1, %acc1:2 = tile.softmax_sum %c2 to %c4 step 2 full(%c2, %c2) scale(1.0)
      scores(%j: index, %partial: i1) {
        %x = tile.load %s[%c0, %j] dims [0, 1] : memref<2x4xf32> to !wide
        tile.yield %x : !wide
      }
      values(%j: index) {
        %x = tile.load %v[%j, %c0] dims [0, 1] : memref<4x4xf16> to tensor<2x2xf16, #tile.reg>
        %y = tile.load %v[%j, %c2] dims [0, 1] : memref<4x4xf16> to tensor<2x1xf16, #tile.reg>
        tile.yield %x, %y : tensor<2x2xf16, #tile.reg>, tensor<2x1xf16, #tile.reg>
      } : !row, !wide, !row
    %m, %l, %acc:2 = tile.softmax_merge (%m0, %l0, %acc0#0, %acc0#1), (%m1, %l1, %acc1#0, %acc1#1) : !row, !row, !wide, !row
    %out:2, %ls = tile.softmax_finish %m, %l, %acc#0, %acc#1 : !row, !wide, !row
    tile.store %out#0, %o[%c0, %c0] dims [0, 1] : !wide, memref<2x3xf32>
    tile.store %out#1, %o[%c0, %c2] dims [0, 1] : !row, memref<2x3xf32>
    tile.store %ls, %lse[%c0] dims [0, -1] : !row, memref<2xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"s", read, tensor<2x4xf32>, ["M", "N"], 4>, #launch.tensor<"v", read, tensor<4x4xf16>, ["N", "D"], 2>,
             #launch.tensor<"o", write, tensor<2x3xf32>, ["M", "Dv"], 4>, #launch.tensor<"lse", write, tensor<2xf32>, ["M"], 4>])
    parameters([#launch.memref<"s", [0, 1]>, #launch.memref<"v", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.memref<"lse", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
