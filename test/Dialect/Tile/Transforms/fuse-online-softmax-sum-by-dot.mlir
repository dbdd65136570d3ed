// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax,tile-lower-blocks,cse,canonicalize)))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=deferred},tile-lower-blocks,cse,canonicalize)))' \
// RUN:   | FileCheck %s --check-prefix=DEFERRED

// No additions; the sums are rescaled with the accumulator, and each column contains
// the row sum.
// CHECK-LABEL: gpu.func @kernel
// CHECK: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<64x8xbf16, #tile.reg>
// CHECK: %[[LOOP:.*]]:6 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[ACC:.*]] = %
// CHECK:   %[[MOVE:.*]]:6 = tile.if_any
// CHECK-NOT: tile.reduce add
// CHECK:   %[[STATE:.*]]:2 = tile.if_any %[[MOVE]]#5 init(%[[ACC]], %[[L]] :
// CHECK:   %[[P:.*]] = arith.truncf %{{.*}} to tensor<16x64xbf16
// CHECK:   %[[ACC1:.*]] = tile.dot %[[P]], %{{.*}}, %[[STATE]]#0
// CHECK:   %[[L1:.*]] = tile.dot %[[P]], %[[ONES]], %[[STATE]]#1
// CHECK:   scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[L1]], %[[ACC1]]
// CHECK: tile.reduce max dim 1 %[[LOOP]]#4

// DEFERRED-LABEL: gpu.func @kernel
// DEFERRED: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[L:.*]] = %{{.*}}, %{{.*}} = %
// DEFERRED-NOT: tile.reduce add
// DEFERRED: %[[SCALED:.*]] = arith.mulf %[[L]], %
// DEFERRED: tile.dot %{{.*}}, %{{.*}}, %[[SCALED]]

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
gpu.module @kernels {
  launch.abi @kernel target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, warps = 1, stages = 1, recurrence = lazy, tau = 4, sum_by_dot>)
    tensors([#launch.tensor<"s", read, tensor<16x?xf32>, ["M", "N"], 4>, #launch.tensor<"v", read, tensor<?x32xbf16>, ["N", "D"], 2>,
             #launch.tensor<"l", write, tensor<16x1xf32>, ["M", "A"], 4>, #launch.tensor<"o", write, tensor<16x32xf32>, ["M", "D"], 4>])
    parameters([#launch.memref<"s", [0, 1]>, #launch.memref<"v", [0, 1]>, #launch.memref<"l", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @kernel(%S: memref<16x?xf32>, %V: memref<?x32xbf16>, %M: memref<16x1xf32>, %O: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ub = memref.dim %S, %c1 : memref<16x?xf32>
    // 0.125 / log2(e): a factor of 1/8 in base 2.
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(0.0866433975)
      scores(%j: index, %partial: i1) {
        %s = tile.load %S[%c0, %j] dims [0, 1] : memref<16x?xf32> to !full
        tile.yield %s : !full
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      } : !row, tensor<16x32xf32, #tile.reg>
    tile.store %l, %M[%c0, %c0] dims [0, 1] : !row, memref<16x1xf32>
    tile.store %m, %M[%c0, %c0] dims [0, 1] : !row, memref<16x1xf32>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}
