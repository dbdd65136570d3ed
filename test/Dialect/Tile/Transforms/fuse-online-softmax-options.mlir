// RUN: fovea-opt %s --split-input-file --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=conditional tau=9 partial-sum-width=3},tile-lower-blocks)))' \
// RUN:   | FileCheck %s
// RUN: not fovea-opt %s --split-input-file \
// RUN:   --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{tau=inf})))' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TAU
// RUN: not fovea-opt %s --split-input-file \
// RUN:   --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{partial-sum-width=0})))' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WIDTH
// RUN: not fovea-opt %s --split-input-file \
// RUN:   --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=flash})))' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME

// TAU: error: tau must be finite, found INF
// WIDTH: error: partial-sum-width must be positive, found 0
// NAME: Cannot find option named 'flash'

gpu.module @kernels {
  // Three does not divide 64: complete sums. Probabilities are modified for the product
  // only; f32 values need no rounding.
  // CHECK-LABEL: gpu.func @weights
  // CHECK:         scf.for
  // CHECK:           %[[P:.*]] = math.exp2 %{{.*}} : tensor<16x64xf32, #tile.reg>
  // CHECK:           tile.reduce add dim 1 %[[P]] : tensor<16x64xf32, #tile.reg> to tensor<16x1xf32, #tile.reg>
  // CHECK:           %[[W:.*]] = arith.mulf %[[P]], %
  // CHECK-NEXT:      tile.dot %[[W]]
  gpu.func @weights(%ub: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xf32, #tile.reg>,
                    %O: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(1.0)
      scores(%j: index, %partial: i1) { tile.yield %s : tensor<16x64xf32, #tile.reg> }
      weights(%j: index, %p: tensor<16x64xf32, #tile.reg>) {
        %w = arith.mulf %p, %s : tensor<16x64xf32, #tile.reg>
        tile.yield %w : tensor<16x64xf32, #tile.reg>
      }
      values(%j: index) { tile.yield %v : tensor<64x32xf32, #tile.reg> }
      : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @overflow(%ub: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xf8E4M3FN, #tile.reg>) {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{tau must keep 2^tau within 'f8E4M3FN', found 9}}
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(1.0)
      scores(%j: index, %partial: i1) { tile.yield %s : tensor<16x64xf32, #tile.reg> }
      values(%j: index) { tile.yield %v : tensor<64x32xf8E4M3FN, #tile.reg> }
      : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    gpu.return
  }
}
