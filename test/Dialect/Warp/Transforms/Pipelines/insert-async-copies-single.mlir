// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-async-copies)))' --split-input-file | FileCheck %s

// Outside of loops: one stage that is never released. Shared loads sink to their use, so that later
// copies start first.
// CHECK-LABEL: gpu.func @f
// CHECK: warp.alloc : memref<1x64x32xbf16
// CHECK: %[[P:.*]] = warp.pipeline : !warp.pipeline<1>
// CHECK: warp.producer_acquire %[[P]]
// CHECK: %[[TO:.*]] = warp.stage
// CHECK: warp.copy async %{{.*}} to %[[TO]]
// CHECK: warp.producer_commit %[[P]]
// CHECK: memref.dim
// CHECK-NEXT: warp.consumer_wait %[[P]]
// CHECK-NEXT: %[[VIEW:.*]] = warp.stage
// CHECK-NEXT: %[[Q:.*]] = warp.local_load %[[VIEW]]
// CHECK-NEXT: arith.addf %[[Q]], %[[Q]]
// CHECK-NOT: warp.consumer_release
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %b = warp.alloc : memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    %q = warp.local_load %b : memref<64x32xbf16, #warp.shared<row_bytes = 64>> to tensor<64x32xbf16, #tile.reg>
    %n = memref.dim %k, %c0 : !memory
    %m = arith.addf %q, %q : tensor<64x32xbf16, #tile.reg>
    gpu.return
  }
}
