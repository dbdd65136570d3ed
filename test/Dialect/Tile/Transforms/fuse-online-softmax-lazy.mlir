// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax,tile-lower-blocks,cse,canonicalize)))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=deferred},tile-lower-blocks,cse,canonicalize)))' \
// RUN:   | FileCheck %s --check-prefix=OPTION
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{tau=8},tile-lower-blocks,cse,canonicalize)))' \
// RUN:   | FileCheck %s --check-prefix=TAU

// The plan has recurrence and tau; pass options take precedence.
// OPTION-LABEL: gpu.func @kernel
// OPTION-NOT: tile.if_any
// TAU-LABEL: gpu.func @kernel
// TAU: arith.constant dense<6.400000e+01> : tensor<16x1xf32, #tile.reg>

// CHECK-LABEL: gpu.func @kernel
// CHECK-DAG: %[[LEAST:.*]] = arith.constant dense<-2147483648> : tensor<16x1xi32, #tile.reg>
// CHECK-DAG: %[[INF:.*]] = arith.constant dense<0xFF800000> : tensor<16x1xf32
// CHECK-DAG: %[[SLACK:.*]] = arith.constant dense<3.200000e+01>
// CHECK-DAG: %[[SCALE:.*]] = arith.constant dense<1.250000e-01> : tensor<16x1xf32
// CHECK-DAG: %[[MINUS_SCALE:.*]] = arith.constant dense<-1.250000e-01> : tensor<16x1xf32
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00>
// CHECK-DAG: %[[NO:.*]] = arith.constant dense<false>
// CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %[[INF]], %[[E:.*]] = %{{.*}}, %[[T:.*]] = %[[LEAST]], %[[L:.*]] = %{{.*}}, %[[ACC:.*]] = %{{.*}}, %[[PEAKS:.*]] = %

// No shuffle and no float maximum before the ballot. An integer maximum tracks the
// largest score.
// CHECK:   %[[S:.*]] = arith.extf {{.*}} to tensor<16x64xf32, #tile.reg>
// CHECK-NEXT: %[[BITS:.*]] = arith.bitcast %[[S]] : tensor<16x64xf32, #tile.reg> to tensor<16x64xi32, #tile.reg>
// CHECK-NEXT: %[[LARGEST:.*]] = tile.reduce max dim 1 %[[BITS]] : {{.*}} to tensor<16x8xi32, #tile.reg>
// CHECK-NEXT: %[[MOST:.*]] = arith.maxsi %[[PEAKS]], %[[LARGEST]]
// CHECK-NEXT: %[[WT:.*]] = tile.broadcast %[[T]] : {{.*}} to tensor<16x8xi32, #tile.reg>
// CHECK-NEXT: %[[GROWN:.*]] = arith.cmpi sge, %[[MOST]], %[[WT]]
// CHECK-NEXT: %[[NEW:.*]]:7 = tile.if_any %[[GROWN]] init(%[[M]], %[[E]], %[[T]], %[[L]], %[[MOST]], %[[ONE]], %[[NO]] :
// CHECK-NEXT: ^bb0(%[[M0:.*]]: {{.*}}, %[[E0:.*]]: {{.*}}, %[[T0:.*]]: {{.*}}, %[[L0:.*]]: {{.*}}, %[[P0:.*]]: {{.*}}, %{{.*}}: {{.*}}, %{{.*}}: {{.*}}):
// CHECK:        %[[MAX:.*]] = tile.reduce max dim 1 %[[S]] : {{.*}} to tensor<16x1xf32, #tile.reg>
// CHECK:        %[[MOSTROW:.*]] = tile.reduce max dim 1 %[[MOST]]
// CHECK:        %[[ASKED:.*]] = arith.cmpi sge, %[[MOSTROW]], %[[T0]]
// A covered score is non-negative, unless it is the offset.
// CHECK:        %[[SUM:.*]] = arith.addf %[[M0]], %[[SLACK]]
// CHECK:        %[[POSITIVE:.*]] = arith.cmpf oge, %[[SUM]], %
// CHECK:        %[[BOUND:.*]] = arith.select %[[POSITIVE]], %[[SUM]], %[[M0]]
// CHECK:        %[[EXCEEDS:.*]] = arith.cmpf ogt, %[[MAX]], %[[BOUND]]
// CHECK:        %[[MOVED:.*]] = arith.andi %[[EXCEEDS]], %[[ASKED]]
// CHECK:        %[[M1:.*]] = arith.select %[[MOVED]], %[[MAX]], %[[M0]]
// CHECK:        %[[SUM1:.*]] = arith.addf %[[M1]], %[[SLACK]]
// CHECK:        %[[POSITIVE1:.*]] = arith.cmpf oge, %[[SUM1]], %
// CHECK:        %[[BOUND1:.*]] = arith.select %[[POSITIVE1]], %[[SUM1]], %[[M1]]
// CHECK:        %[[BITS1:.*]] = arith.bitcast %[[BOUND1]]
// CHECK:        %[[ABOVE:.*]] = arith.addi %[[BITS1]], %
// CHECK:        %[[ORDERED:.*]] = arith.cmpf oge, %[[BOUND1]], %
// CHECK:        %[[T1:.*]] = arith.select %[[ORDERED]], %[[ABOVE]], %[[LEAST]]
// CHECK:        %[[EMPTY:.*]] = arith.cmpf oeq, %[[M1]], %[[INF]]
// CHECK:        %[[GUARDED:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[M1]]
// CHECK:        %[[E1:.*]] = arith.mulf %[[GUARDED]], %[[MINUS_SCALE]]
// CHECK:        %[[X:.*]] = math.fma %[[M0]], %[[SCALE]], %[[E1]]
// CHECK:        %[[SHRINK:.*]] = math.exp2 %[[X]]
// CHECK:        %[[F:.*]] = arith.select %[[MOVED]], %[[SHRINK]], %[[ONE]]
// CHECK:        %[[WF:.*]] = tile.broadcast %[[F]]
// CHECK:        %[[L1:.*]] = arith.mulf %[[L0]], %[[WF]]
// Rows that requested an offset use the maximum; other rows keep theirs.
// CHECK:        %[[MAXBITS:.*]] = arith.bitcast %[[MAX]]
// CHECK:        %[[WB:.*]] = tile.broadcast %[[MAXBITS]]
// CHECK:        %[[RISEN:.*]] = arith.maxsi %[[PEAKS]], %[[WB]]
// CHECK:        %[[P1:.*]] = arith.select %{{.*}}, %[[RISEN]], %[[P0]]
// CHECK:        tile.yield %[[M1]], %[[E1]], %[[T1]], %[[L1]], %[[P1]], %[[F]], %[[MOVED]]
// CHECK:   %[[WE:.*]] = tile.broadcast %[[NEW]]#1
// CHECK:   %[[XS:.*]] = math.fma %[[S]], %{{.*}}, %[[WE]]
// CHECK:   %[[P:.*]] = math.exp2 %[[XS]]
// CHECK:   %[[PART:.*]] = tile.reduce add dim 1 %[[P]]
// CHECK:   %[[L2:.*]] = arith.addf %[[NEW]]#3, %[[PART]]
// CHECK:   %[[RESCALED:.*]] = tile.if_any %[[NEW]]#6 init(%[[ACC]] :
// CHECK:     tile.broadcast %[[NEW]]#5
// CHECK:   %[[DOT:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[RESCALED]]
// CHECK:   scf.yield %[[NEW]]#0, %[[NEW]]#1, %[[NEW]]#2, %[[L2]], %[[DOT]], %[[NEW]]#4

// The sum includes the rounding of the largest probability, and the offset changes so
// that the log-sum-exp stays.
// CHECK: %[[PEAK:.*]] = tile.reduce max dim 1
// CHECK: %[[W:.*]] = math.exp2
// CHECK: %[[NARROW:.*]] = arith.truncf %[[W]] : {{.*}} to tensor<16x1xbf16
// CHECK: %[[ROUNDED:.*]] = arith.extf %[[NARROW]]
// CHECK: %[[ADDED:.*]] = arith.subf %[[ROUNDED]], %[[W]]
// CHECK: arith.addf %{{.*}}, %[[ADDED]]

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!half = tensor<16x64xf16, #tile.reg>
gpu.module @kernels {
  launch.abi @kernel target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, warps = 1, stages = 1, recurrence = lazy, tau = 4>)
    tensors([#launch.tensor<"s", read, tensor<16x?xf16>, ["M", "N"], 2>, #launch.tensor<"v", read, tensor<?x32xbf16>, ["N", "D"], 2>,
             #launch.tensor<"l", write, tensor<16x1xf32>, ["M", "A"], 4>, #launch.tensor<"o", write, tensor<16x32xf32>, ["M", "D"], 4>])
    parameters([#launch.memref<"s", [0, 1]>, #launch.memref<"v", [0, 1]>, #launch.memref<"l", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @kernel(%S: memref<16x?xf16>, %V: memref<?x32xbf16>, %M: memref<16x1xf32>, %O: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ub = memref.dim %S, %c1 : memref<16x?xf16>
    // 0.125 / log2(e): a factor of 1/8 in base 2.
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(0.0866433975)
      scores(%j: index, %partial: i1) {
        %s0 = tile.load %S[%c0, %j] dims [0, 1] : memref<16x?xf16> to !half
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
