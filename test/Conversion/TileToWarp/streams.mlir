// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp,warp-insert-pipelines)))' | FileCheck %s --check-prefix=PIPELINE

// A stream's tile is stored at the position of the op; dots read it, transposed or not.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[S:.*]] = warp.alloc : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
// CHECK: %[[X:.*]] = arith.negf
// CHECK-NEXT: warp.local_store "x" %[[X]] to %[[S]]
// CHECK-NEXT: warp.fence_stores %[[S]]
// CHECK-NOT: tile.stream
// CHECK: warp.dot "a" %[[S]], %{{.*}}, %{{.*}} transpose_a
// CHECK: warp.dot "b" %[[X]], %[[S]], %{{.*}}

// It gets stages and a pipeline of its name, also if all warps perform copies.
// PIPELINE-LABEL: gpu.func @f
// PIPELINE: %[[RING:.*]] = warp.alloc : memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
// PIPELINE: %[[P:.*]] = warp.pipeline "x" : !warp.pipeline<2>
// PIPELINE: warp.producer_acquire %[[P]]
// PIPELINE-NEXT: %[[STAGE:.*]] = warp.stage %[[RING]]
// PIPELINE-NEXT: warp.local_store "x" %{{.*}} to %[[STAGE]]
// PIPELINE-NEXT: warp.fence_stores %[[STAGE]]
// PIPELINE-NEXT: warp.producer_commit %[[P]]
// PIPELINE-NEXT: warp.consumer_wait %[[P]]
// PIPELINE: warp.dot "a"
// PIPELINE-NEXT: warp.dot "b"
// PIPELINE-NEXT: warp.consumer_release %[[P]]
!memory = memref<?x64xbf16, strided<[?, 1]>>
!tile = tensor<64x64xbf16, #tile.reg>
!sum = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x64xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory, %o: memref<?x64xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : !sum
    %t = tile.load "k" %k[%c0, %c0] dims [0, 1] : !memory to !tile
    %u = tile.load "u" %k[%c0, %c0] dims [0, 1] : !memory to !tile
    %x = arith.negf %u : !tile
    %s = tile.stream "x" %x : !tile
    %a = tile.dot "a" %s, %t, %zero transpose_a : !tile, !tile, !sum
    %b = tile.dot "b" %x, %s, %a : !tile, !tile, !sum
    tile.store %b, %o[%c0, %c0] dims [0, 1] : !sum, memref<?x64xf32, strided<[?, 1]>>
    gpu.return
  }
}
