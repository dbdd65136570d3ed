// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-async-copies)))' --split-input-file | FileCheck %s

// The computation of rows and limit is cloned for the prefetched iterations.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[FIRST:.*]] = arith.addi %c0, %{{.*}} : index
// CHECK: %[[HALF:.*]] = arith.divui %[[FIRST]], %c32
// CHECK: %[[END:.*]] = arith.addi %[[HALF]], %[[N]]
// CHECK: warp.copy async %{{.*}}[%[[FIRST]], %c0] limit(%[[END]]) if
// CHECK: scf.for {{.*}} {
// CHECK: arith.muli
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}} : index
// CHECK: %[[HALF2:.*]] = arith.divui %[[NEXT]], %c32
// CHECK: %[[END2:.*]] = arith.addi %[[HALF2]], %[[N]]
// CHECK: warp.copy async %{{.*}}[%[[NEXT]], %c0] limit(%[[END2]]) if
!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %b = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #tile.reg>) {
      %half = arith.divui %j, %c32 : index
      %end = arith.addi %half, %n : index
      warp.copy %k[%j, %c0] limit(%end) dims [0, 1] to %b : !memory to !buffer
      %s = warp.dot %a, %b, %acc transpose_b : tensor<64x32xbf16, #tile.reg>, !buffer, tensor<64x32xf32, #tile.reg>
      scf.yield %s : tensor<64x32xf32, #tile.reg>
    }
    gpu.return
  }
}
