// Scores may be as large as -1e10: softmax offsets are in units of the score, and a
// row with a large maximum uses a power of two as the factor of its exponents, so that
// its offset is not rounded.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=deferred},tile-lower-blocks,cse,canonicalize)))' \
// RUN:   | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=lazy tau=8},tile-lower-blocks,cse,canonicalize)))' \
// RUN:   | FileCheck %s --check-prefix=LAZY

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!half = tensor<16x64xf16, #tile.reg>
!wide = tensor<16x64xbf16, #tile.reg>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @constant
  // log2(e), the power of two below it, and 2^26 / log2(e).
  // CHECK-DAG: %[[C:.*]] = arith.constant dense<1.44269502> : tensor<16x1xf32
  // CHECK-DAG: %[[COARSE:.*]] = arith.constant dense<1.000000e+00> : tensor<16x1xf32
  // CHECK-DAG: %[[LARGE:.*]] = arith.constant dense<0x4C317218> : tensor<16x1xf32
  // CHECK:      scf.for {{.*}} iter_args(%[[M:[a-z0-9_]+]] = %
  // CHECK:        %[[MAX:.*]] = tile.reduce max
  // CHECK-NEXT:   %[[NEXT:.*]] = arith.maximumf %[[M]], %[[MAX]]
  // CHECK:        %[[GUARDED:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NEXT]]
  // CHECK-NEXT:   %[[SIZE:.*]] = math.absf %[[GUARDED]]
  // CHECK-NEXT:   %[[IS:.*]] = arith.cmpf ogt, %[[SIZE]], %[[LARGE]]
  // CHECK-NEXT:   %[[FACTOR:.*]] = arith.select %[[IS]], %[[COARSE]], %[[C]]
  // CHECK-NEXT:   %[[REF:.*]] = arith.mulf %[[GUARDED]], %[[FACTOR]]
  // Old sums are rescaled by the difference of the rounded offsets that the
  // probabilities used.
  // CHECK:        %[[WAS:.*]] = arith.mulf %{{.*}}, %{{.*}} : tensor<16x1xf32
  // CHECK-NEXT:   %[[BEFORE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[WAS]]
  // CHECK-NEXT:   %[[OLD:.*]] = arith.subf %[[BEFORE]], %[[REF]]
  // CHECK-NEXT:   math.exp2 %[[OLD]]
  // CHECK-NEXT:   %[[MINUS:.*]] = arith.negf %[[REF]]
  // CHECK-DAG:    %[[BY:.*]] = tile.broadcast %[[FACTOR]]
  // CHECK-DAG:    %[[OFFSET:.*]] = tile.broadcast %[[MINUS]]
  // CHECK:        math.fma %{{.*}}, %[[BY]], %[[OFFSET]]
  // CHECK:        scf.yield %[[NEXT]]

  // LAZY-LABEL: gpu.func @constant
  // The factor is computed when the offset changes, and is loop-carried.
  // LAZY:         %[[MOVE:.*]]:{{[0-9]+}} = tile.if_any
  // LAZY:           math.absf
  // LAZY:           %[[FACTOR:.*]] = arith.select
  // LAZY-NEXT:      arith.mulf %{{.*}}, %[[FACTOR]]
  // LAZY:           %[[MOVED:.*]] = arith.subf %{{.*}}, %{{.*}}
  // LAZY-NEXT:      math.exp2 %[[MOVED]]
  // LAZY:           tile.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[FACTOR]],
  // LAZY-NOT:     math.absf
  // LAZY:         %[[BY:.*]] = tile.broadcast %[[MOVE]]#3
  // LAZY:         math.fma %{{.*}}, %[[BY]]
  // LAZY:         scf.yield %[[MOVE]]#0, %[[MOVE]]#1, %[[MOVE]]#2, %[[MOVE]]#3,
  gpu.func @constant(%ub: index, %q: tensor<16x16xbf16, #tile.reg>, %K: memref<?x16xbf16>, %V: memref<?x32xbf16>, %L: memref<16x1xf32>,
                     %O: memref<16x32xf32>, %visible: tensor<16x64xi1, #tile.reg>) {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : !full
    %hidden = arith.constant dense<-1.0e10> : !full
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(1.0)
      scores(%j: index, %partial: i1) {
        %k = tile.load %K[%j, %c0] dims [0, 1] : memref<?x16xbf16> to tensor<64x16xbf16, #tile.reg>
        %s = tile.dot %q, %k, %zero transpose_b : tensor<16x16xbf16, #tile.reg>, tensor<64x16xbf16, #tile.reg>, !full
        %s1 = arith.select %visible, %s, %hidden : tensor<16x64xi1, #tile.reg>, !full
        tile.yield %s1 : !full
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      } : !row, tensor<16x32xf32, #tile.reg>
    tile.store %l, %L[%c0, %c0] dims [0, 1] : !row, memref<16x1xf32>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }

  // Loaded values may be large, unless their type has no such values.
  // CHECK-LABEL: gpu.func @read
  // CHECK: math.absf
  gpu.func @read(%ub: index, %S: memref<?x64xbf16>, %V: memref<?x32xbf16>, %L: memref<16x1xf32>, %O: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(1.0)
      scores(%j: index, %partial: i1) {
        %s0 = tile.load %S[%j, %c0] dims [1, 0] : memref<?x64xbf16> to !wide
        %s = arith.extf %s0 : !wide to !full
        tile.yield %s : !full
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      } : !row, tensor<16x32xf32, #tile.reg>
    tile.store %l, %L[%c0, %c0] dims [0, 1] : !row, memref<16x1xf32>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @small
  // CHECK-NOT: math.absf
  // CHECK: gpu.return
  gpu.func @small(%ub: index, %q: tensor<16x16xbf16, #tile.reg>, %K: memref<?x16xbf16>, %S: memref<?x64xf16>, %V: memref<?x32xbf16>,
                  %L: memref<16x1xf32>, %O: memref<16x32xf32>, %scale: f32) {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : !full
    %scales = tile.broadcast %scale : f32 to !full
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(1.0)
      scores(%j: index, %partial: i1) {
        %k = tile.load %K[%j, %c0] dims [0, 1] : memref<?x16xbf16> to tensor<64x16xbf16, #tile.reg>
        %product = tile.dot %q, %k, %zero transpose_b : tensor<16x16xbf16, #tile.reg>, tensor<64x16xbf16, #tile.reg>, !full
        %s = arith.mulf %product, %scales : !full
        %t0 = tile.load %S[%j, %c0] dims [1, 0] : memref<?x64xf16> to !half
        %t = arith.extf %t0 : !half to !full
        %s1 = arith.addf %s, %t : !full
        tile.yield %s1 : !full
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      } : !row, tensor<16x32xf32, #tile.reg>
    tile.store %l, %L[%c0, %c0] dims [0, 1] : !row, memref<16x1xf32>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}
