// A tile at the largest integer is out of bounds without overflow in its
// coordinates: each element has a predicate.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

#reg = #warp.mma_sync<warps = 1>
gpu.module @m {
  // CHECK-LABEL: gpu.func @f
  // CHECK-NOT: llvm.load
  // CHECK-COUNT-8: @p ld.global
  // CHECK-NOT: llvm.load
  // CHECK: gpu.return
  gpu.func @f(%from: memref<16x16xi32>, %to: memref<16x16xi32>) kernel {
    %c0 = arith.constant 0 : index
    %last = arith.constant 9223372036854775807 : index
    %t = tile.load %from[%last, %c0] dims [0, 1] : memref<16x16xi32> to tensor<16x16xi32, #reg>
    tile.store %t, %to[%c0, %c0] dims [0, 1] : tensor<16x16xi32, #reg>, memref<16x16xi32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"from", read, tensor<16x16xi32>, ["S", "D"], 4>, #launch.tensor<"to", write, tensor<16x16xi32>, ["S", "D"], 4>])
    parameters([#launch.memref<"from", [0, 1]>, #launch.memref<"to", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
