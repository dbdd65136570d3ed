// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=three-pass},tile-lower-blocks,cse,canonicalize)))' \
// RUN:   | FileCheck %s --check-prefix=THREE
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=normalized},tile-lower-blocks,cse,canonicalize)))' \
// RUN:   | FileCheck %s --check-prefix=NORM
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=conditional tau=4},tile-lower-blocks,cse,canonicalize)))' \
// RUN:   | FileCheck %s --check-prefix=COND

// The maximum, the sum, the output; each loop recomputes the scores.
// THREE-LABEL: gpu.func @kernel
// THREE-DAG:   %[[INF:.*]] = arith.constant dense<0xFF800000>
// THREE:       %[[M:.*]] = scf.for {{.*}} iter_args(%[[M0:.*]] = %[[INF]])
// THREE:         tile.load {{.*}} to tensor<16x64xf16, #tile.reg>
// THREE:         %[[MAX:.*]] = tile.reduce max
// THREE:         %[[MB:.*]] = arith.mulf %[[MAX]]
// THREE:         %[[M1:.*]] = arith.maximumf %[[M0]], %[[MB]]
// THREE-NEXT:    scf.yield %[[M1]]
// THREE:       %[[EMPTY:.*]] = arith.cmpf oeq, %[[M]], %[[INF]]
// THREE-NEXT:  %[[REF:.*]] = arith.select %[[EMPTY]]
// THREE:       %[[L:.*]] = scf.for {{.*}} -> (tensor<16x8xf32, #tile.reg>)
// THREE:         math.exp2
// THREE:         tile.reduce add {{.*}} to tensor<16x8xf32, #tile.reg>
// THREE:         scf.yield
// THREE:       scf.for {{.*}} -> (tensor<16x32xf32, #tile.reg>)
// THREE:         tile.load {{.*}} to tensor<16x64xf16, #tile.reg>
// THREE:         math.exp2
// THREE:         tile.load {{.*}} to tensor<64x32xbf16, #tile.reg>
// THREE-NEXT:    %[[ACC:.*]] = tile.dot
// THREE-NEXT:    scf.yield %[[ACC]]
// THREE:       tile.reduce add dim 1 %[[L]]

// The accumulator is divided by the running sum in each iteration, and multiplied by
// it after the loop.
// NORM-LABEL: gpu.func @kernel
// NORM:       %[[R:.*]]:3 = scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[ACC:.*]] = %
// NORM:         %[[FACTOR:.*]] = math.exp2 %{{.*}} : tensor<16x1xf32, #tile.reg>
// NORM-NEXT:    %[[KEPT:.*]] = arith.mulf %[[L]], %[[FACTOR]]
// NORM-NEXT:    %[[SUM:.*]] = tile.reduce add {{.*}} to tensor<16x1xf32, #tile.reg>
// NORM-NEXT:    %[[L1:.*]] = arith.addf %[[KEPT]], %[[SUM]]
// NORM-NEXT:    %[[W:.*]] = tile.broadcast %[[KEPT]]
// NORM-NEXT:    %[[SCALED:.*]] = arith.mulf %[[ACC]], %[[W]]
// NORM:         %[[DOT:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[SCALED]]
// NORM:         %[[EMPTY:.*]] = arith.cmpf oeq, %[[L1]]
// NORM-NEXT:    arith.divf %{{.*}}, %[[L1]]
// NORM-NEXT:    %[[INV:.*]] = arith.select %[[EMPTY]]
// NORM-NEXT:    %[[WINV:.*]] = tile.broadcast %[[INV]]
// NORM-NEXT:    %[[ACC1:.*]] = arith.mulf %[[DOT]], %[[WINV]]
// NORM-NEXT:    scf.yield %{{.*}}, %[[L1]], %[[ACC1]]
// NORM:       tile.broadcast %[[R]]#1

// The offset changes if the maximum exceeds it by more than tau; factors are computed
// only if some row's offset changed.
// COND-LABEL: gpu.func @kernel
// COND-DAG:   %[[TAU:.*]] = arith.constant dense<4.000000e+00>
// COND:       scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[ACC:.*]] = %
// COND:         %[[MOST:.*]] = arith.maximumf %[[M]]
// COND-NEXT:    %[[BOUND:.*]] = arith.addf %[[M]], %[[TAU]]
// COND-NEXT:    %[[MOVED:.*]] = arith.cmpf ogt, %[[MOST]], %[[BOUND]]
// COND-NEXT:    %[[NEXT:.*]] = arith.select %[[MOVED]], %[[MOST]], %[[M]]
// COND:         %[[STATE:.*]]:2 = tile.if_any %[[MOVED]] init(%[[L]], %[[ACC]]
// COND-NEXT:    ^bb0(%[[LA:.*]]: {{.*}}, %[[ACCA:.*]]: {{.*}}):
// COND:           %[[F:.*]] = math.exp2
// COND-NEXT:      %[[FACTOR:.*]] = arith.select %[[MOVED]], %[[F]]
// COND:           arith.mulf %[[LA]]
// COND:           arith.mulf %[[ACCA]]
// COND:         arith.addf %[[STATE]]#0
// COND:         tile.dot %{{.*}}, %{{.*}}, %[[STATE]]#1
// COND-NEXT:    scf.yield %[[NEXT]]

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!half = tensor<16x64xf16, #tile.reg>
gpu.module @kernels {
  gpu.func @kernel(%ub: index, %S: memref<?x64xf16>, %V: memref<?x32xbf16>, %M: memref<16x1xf32>, %O: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(0.125)
      scores(%j: index, %partial: i1) {
        %s0 = tile.load %S[%j, %c0] dims [1, 0] : memref<?x64xf16> to !half
        %s = arith.extf %s0 : !half to !full
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
