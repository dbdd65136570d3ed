// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' | FileCheck %s

// Loaded operands of dots move to shared memory, once for all dots that read them;
// a computed first operand stays in registers.

// CHECK-LABEL: gpu.func @f
// CHECK-SAME: %[[K:[a-z0-9]+]]:
// CHECK-DAG: %[[Q:.*]] = warp.alloc : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
// CHECK-DAG: %[[KT:.*]] = warp.alloc : memref<32x64xbf16, #warp.shared<row_bytes = 128>>
// CHECK-NOT: warp.alloc
// CHECK: %[[N:.*]] = memref.dim
// CHECK-NOT: tile.load
// CHECK: warp.copy %[[K]][%{{.*}}, %{{.*}}] dims [0, 1] to %[[Q]]
// CHECK-NEXT: warp.copy %[[K]][%[[N]], %{{.*}}] limit(%[[N]]) dims [0, 1] to %[[KT]]
// CHECK-NEXT: %[[S:.*]] = warp.dot %[[Q]], %[[KT]], %{{.*}} transpose_b : memref
// CHECK-NEXT: %[[T:.*]] = warp.dot %[[Q]], %[[KT]], %[[S]] transpose_b
// CHECK-NEXT: %[[P:.*]] = arith.truncf %[[T]]
// CHECK-NEXT: warp.dot %[[P]], %[[KT]], %{{.*}} : tensor<64x32xbf16, #tile.reg>, memref<32x64xbf16
// A slice of columns of an operand that other dots use whole.
// CHECK-NEXT: warp.dot %[[P]], %[[KT]], %{{.*}} columns(32) : tensor<64x32xbf16, #tile.reg>, memref<32x64xbf16
!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %n = memref.dim %k, %c0 : !memory
    %s0 = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %o0 = arith.constant dense<0.0> : tensor<64x64xf32, #tile.reg>
    %q = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x64xbf16, #tile.reg>
    %kt = tile.load %k[%n, %c0] limit(%n) dims [0, 1] : !memory to tensor<32x64xbf16, #tile.reg>
    %s = tile.dot %q, %kt, %s0 transpose_b : tensor<64x64xbf16, #tile.reg>, tensor<32x64xbf16, #tile.reg>, tensor<64x32xf32, #tile.reg>
    %t = tile.dot %q, %kt, %s transpose_b : tensor<64x64xbf16, #tile.reg>, tensor<32x64xbf16, #tile.reg>, tensor<64x32xf32, #tile.reg>
    %p = arith.truncf %t : tensor<64x32xf32, #tile.reg> to tensor<64x32xbf16, #tile.reg>
    %o = tile.dot %p, %kt, %o0 : tensor<64x32xbf16, #tile.reg>, tensor<32x64xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
    %part = tile.dot %p, %kt, %s0 columns(32) : tensor<64x32xbf16, #tile.reg>, tensor<32x64xbf16, #tile.reg>, tensor<64x32xf32, #tile.reg>
    gpu.return
  }
}
