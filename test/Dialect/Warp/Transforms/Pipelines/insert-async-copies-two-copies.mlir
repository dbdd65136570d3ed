// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-async-copies)))' --split-input-file | FileCheck %s

// Two copies: a pipeline each; both are committed after the first wait.
// CHECK-LABEL: gpu.func @f
// CHECK-COUNT-2: warp.pipeline
// CHECK: scf.for
// CHECK-NEXT: warp.consumer_wait %[[KP:[a-z0-9_]+]][
// CHECK: warp.producer_commit %[[KP]]
// CHECK: warp.producer_commit %[[VP:[a-z0-9_]+]]
// CHECK: warp.dot
// CHECK-NEXT: warp.consumer_release %[[KP]]
// CHECK-NEXT: warp.consumer_wait %[[VP]]
// CHECK: warp.dot
// CHECK-NEXT: warp.consumer_release %[[VP]]
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
    %b2 = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #tile.reg>) {
      warp.copy %k[%j, %c0] dims [0, 1] to %b : !memory to !buffer
      %s = warp.dot %a, %b, %acc transpose_b : tensor<64x32xbf16, #tile.reg>, !buffer, tensor<64x32xf32, #tile.reg>
      warp.copy %k[%j, %c0] dims [0, 1] to %b2 : !memory to !buffer
      %t = warp.dot %a, %b2, %s transpose_b : tensor<64x32xbf16, #tile.reg>, !buffer, tensor<64x32xf32, #tile.reg>
      scf.yield %t : tensor<64x32xf32, #tile.reg>
    }
    gpu.return
  }
}
