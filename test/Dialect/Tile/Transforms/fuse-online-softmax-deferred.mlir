// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax)))' | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @deferred
  gpu.func @deferred(%lb: index, %ub: index, %fb: index, %fe: index,
                     %S: memref<?x64xf32>, %V: memref<?x32xbf16>, %O: memref<16x32xf32>, %L: memref<16x1xf32>) {
    %c0 = arith.constant 0 : index
    %m, %l, %acc = tile.softmax_sum %lb to %ub step 64 full(%fb, %fe) scale(0.125)
      scores(%j: index, %partial: i1) {
        %s = tile.load %S[%j, %c0] dims [1, 0] : memref<?x64xf32> to tensor<16x64xf32, #tile.reg>
        tile.yield %s : tensor<16x64xf32, #tile.reg>
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    %o, %lse = tile.softmax_finish %m, %l, %acc : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    tile.store %o, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    tile.store %lse, %L[%c0, %c0] dims [0, 1] : tensor<16x1xf32, #tile.reg>, memref<16x1xf32>
    gpu.return
  }
}
