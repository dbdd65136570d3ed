// RUN: fovea-opt %s --tile-fuse-online-softmax='recurrence=deferred' | FileCheck %s --check-prefixes=CHECK,DEFERRED
// RUN: fovea-opt %s --tile-fuse-online-softmax='recurrence=lazy tau=4' | FileCheck %s --check-prefixes=CHECK,LAZY
// Probabilities of 8 bits use the exponents above 1: the largest is 2^8, or 2^4 if scores may exceed the maximum by 4
// octaves. The scale has a run-time factor.
!row = tensor<64x1xf32, #tile.reg>
!scores = tensor<64x32xf32, #tile.reg>
!values = tensor<32x64xf8E4M3FN, #tile.reg>
!acc = tensor<64x64xf32, #tile.reg>

// CHECK-LABEL: gpu.func @f
// CHECK: %[[FACTOR:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// LAZY: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[FACTOR]] : f32
// CHECK: tile.for_blocks
// DEFERRED: %[[MOST:.*]] = tile.reduce max dim 1
// DEFERRED: tile.broadcast %[[FACTOR]]
// DEFERRED: arith.constant dense<-8.000000e+00>
// DEFERRED: math.fma %[[MOST]]
// LAZY: tile.if_any
// LAZY: tile.broadcast %[[INVERSE]]
// LAZY: arith.constant dense<8.000000e+00>
// CHECK: arith.truncf %{{.*}} fastmath<ninf> : tensor<64x32xf32, #tile.reg> to tensor<64x32xf8E4M3FN, #tile.reg>
gpu.module @m {
  gpu.func @f(%n: index, %s: !scores, %v: !values, %f: f32, %out: memref<64x64xf32>) {
    %c0 = arith.constant 0 : index
    %m, %l, %acc = tile.softmax_sum %c0 to %n step 32 full(%c0, %n) scale(0.125, %f)
      scores(%j: index, %partial: i1) {
        tile.yield %s : !scores
      }
      values(%j: index) {
        tile.yield %v : !values
      } : !row, !acc
    tile.store %acc, %out[%c0, %c0] dims [0, 1] : !acc, memref<64x64xf32>
    gpu.return
  }
}
