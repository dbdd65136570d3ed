// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-output-copies)))' --split-input-file | FileCheck %s

// TMA adds to contiguous accumulators in fragment order. Strided accumulators and plain stores are
// left alone.
// CHECK-LABEL: gpu.func @fragments(
// CHECK-SAME: %[[S:.*]]: memref<?x64xf32>, %[[T:.*]]: memref<?x64xf32, strided<[64, 1]>>, %[[I:.*]]: index)
// CHECK: warp.copy_out_wait %[[B:.*]] : memref<64x64xf32
// CHECK-NEXT: warp.local_store "sum" %{{.*}} fragments to %[[B]]
// CHECK-NEXT: warp.fence_stores %[[B]]
// CHECK-NEXT: warp.copy_out async add "sum" %[[B]] to %[[S]][%[[I]], %{{.*}}] dims [0, 1] fragments
// CHECK-NEXT: tile.store add "sum" %{{.*}}, %[[T]]
// CHECK-NEXT: tile.store "sum" %{{.*}}, %[[S]]
// CHECK-NEXT: warp.copy_out_wait written %[[B]]
!x = tensor<64x64xf32, #warp.wgmma<groups = 1>>
!s = memref<?x64xf32>
!t = memref<?x64xf32, strided<[64, 1]>>
gpu.module @m {
  launch.abi @fragments target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, warps = 4, stages = 1,
       stores = [<"sum", copied>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"s", accumulate, tensor<?x64xf32>, ["S", "D"], 16>, #launch.tensor<"t", accumulate, tensor<?x64xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"s", [0, 1]>, #launch.memref<"t", [0, 1]>, #launch.scalar<"i", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @fragments(%s: !s, %t: !t, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<1.0> : !x
    tile.store add "sum" %x, %s[%i, %c0] dims [0, 1] fragments : !x, !s
    tile.store add "sum" %x, %t[%i, %c0] dims [0, 1] fragments : !x, !t
    tile.store "sum" %x, %s[%i, %c0] dims [0, 1] fragments : !x, !s
    gpu.return
  }
}
