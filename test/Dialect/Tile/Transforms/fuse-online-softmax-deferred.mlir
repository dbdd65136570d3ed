// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax,tile-lower-blocks,cse,canonicalize)))' \
// RUN:   | FileCheck %s

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!half = tensor<16x64xf16, #tile.reg>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @deferred
  // CHECK-SAME:    %[[LB:[a-z0-9]+]]: index, %[[UB:[a-z0-9]+]]: index, %[[FB:[a-z0-9]+]]: index, %[[FE:[a-z0-9]+]]: index
  // CHECK-SAME:    %[[S:[a-z0-9]+]]: memref<?x64xf16>, %[[V:[a-z0-9]+]]: memref<?x32xbf16>
  gpu.func @deferred(%lb: index, %ub: index, %fb: index, %fe: index, %S: memref<?x64xf16>,
                     %V: memref<?x32xbf16>, %M: memref<16x1xf32>, %O: memref<16x32xf32>) {
    // scale * log2(e), once per row and once per element.
    // CHECK-DAG: %[[C:.*]] = arith.constant dense<0.180336878> : tensor<16x64xf32, #tile.reg>
    // CHECK-DAG: %[[CR:.*]] = arith.constant dense<0.180336878> : tensor<16x1xf32, #tile.reg>
    // CHECK-DAG: %[[INF:.*]] = arith.constant dense<0xFF800000> : tensor<16x1xf32, #tile.reg>
    // CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<16x1xf32, #tile.reg>
    // CHECK-DAG: %[[L0:.*]] = arith.constant dense<0.000000e+00> : tensor<16x8xf32, #tile.reg>
    // CHECK-DAG: %[[ACC0:.*]] = arith.constant dense<0.000000e+00> : tensor<16x32xf32, #tile.reg>
    // CHECK-DAG: %[[STEP:.*]] = arith.constant 64 : index
    // CHECK:      %[[R:.*]]:3 = scf.for %[[J:.*]] = %[[LB]] to %[[UB]] step %[[STEP]]
    // CHECK-SAME:     iter_args(%[[M:.*]] = %[[INF]], %[[L:.*]] = %[[L0]], %[[ACC:.*]] = %[[ACC0]])
    // CHECK-NEXT:   %[[PARTIAL:.*]] = tile.is_partial %[[J]] below %[[FB]] from %[[FE]]
    // CHECK-NEXT:   %[[LOADED:.*]] = tile.load %[[S]][%[[J]]
    // CHECK-NEXT:   %[[SCORES:.*]] = arith.extf %[[LOADED]]
    // CHECK-NEXT:   %[[MASKED:.*]] = scf.if %[[PARTIAL]]
    // CHECK:        %[[MAX:.*]] = tile.reduce max dim 1 %[[MASKED]]
    // CHECK-NEXT:   %[[MB:.*]] = arith.mulf %[[MAX]], %[[CR]]
    // CHECK-NEXT:   %[[NEXT:.*]] = arith.maximumf %[[M]], %[[MB]]
    // CHECK-NEXT:   %[[EMPTY:.*]] = arith.cmpf oeq, %[[NEXT]], %[[INF]]
    // CHECK-NEXT:   %[[REF:.*]] = arith.select %[[EMPTY]], %[[ZERO]], %[[NEXT]]
    // CHECK-NEXT:   %[[DIFF:.*]] = arith.subf %[[M]], %[[REF]]
    // CHECK-NEXT:   %[[FACTOR:.*]] = math.exp2 %[[DIFF]]
    // CHECK-NEXT:   %[[NEG:.*]] = arith.negf %[[REF]]
    // CHECK-NEXT:   %[[OFFSET:.*]] = tile.broadcast %[[NEG]]
    // CHECK-NEXT:   %[[X:.*]] = math.fma %[[MASKED]], %[[C]], %[[OFFSET]]
    // CHECK-NEXT:   %[[P:.*]] = math.exp2 %[[X]]
    // CHECK-DAG:    %[[F8:.*]] = tile.broadcast %[[FACTOR]] : {{.*}} to tensor<16x8xf32, #tile.reg>
    // CHECK-DAG:    %[[SUMS:.*]] = tile.reduce add dim 1 %[[P]] : {{.*}} to tensor<16x8xf32, #tile.reg>
    // CHECK:        %[[L1:.*]] = math.fma %[[L]], %[[F8]], %[[SUMS]]
    // CHECK-NEXT:   %[[F32:.*]] = tile.broadcast %[[FACTOR]] : {{.*}} to tensor<16x32xf32, #tile.reg>
    // CHECK-NEXT:   %[[SCALED:.*]] = arith.mulf %[[ACC]], %[[F32]]
    // CHECK-NEXT:   %[[PB:.*]] = arith.truncf %[[P]] : {{.*}} to tensor<16x64xbf16, #tile.reg>
    // CHECK-NEXT:   %[[VALUES:.*]] = tile.load %[[V]][%[[J]]
    // CHECK-NEXT:   %[[ACC1:.*]] = tile.dot %[[PB]], %[[VALUES]], %[[SCALED]]
    // CHECK-NEXT:   scf.yield %[[NEXT]], %[[L1]], %[[ACC1]]
    // CHECK:      tile.reduce add dim 1 %[[R]]#1 : tensor<16x8xf32, #tile.reg> to tensor<16x1xf32, #tile.reg>
    // CHECK:      arith.mulf %[[R]]#0
    // CHECK:      tile.store %[[R]]#2
    %c0 = arith.constant 0 : index
    %m, %l, %acc = tile.softmax_sum %lb to %ub step 64 full(%fb, %fe) scale(0.125)
      scores(%j: index, %partial: i1) {
        %s0 = tile.load %S[%j, %c0] dims [1, 0] : memref<?x64xf16> to !half
        %s = arith.extf %s0 : !half to !full
        %masked = scf.if %partial -> !full {
          %s1 = arith.addf %s, %s : !full
          scf.yield %s1 : !full
        } else {
          scf.yield %s : !full
        }
        tile.yield %masked : !full
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
