// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' --split-input-file | FileCheck %s

// Copies by threads support limits.
// CHECK-LABEL: gpu.func @threads
// CHECK: warp.copy %arg0[{{.*}}] limit(%arg1)
// CHECK-NOT: warp.zero_rows
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @threads target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @threads(%v: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %p = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %b = tile.load %v[%c0, %c0] limit(%n) dims [0, 1] : !memory to tensor<32x32xbf16, #tile.reg>
    %d = tile.dot %p, %b, %zero : tensor<64x32xbf16, #tile.reg>, tensor<32x32xbf16, #tile.reg>, tensor<64x32xf32, #tile.reg>
    gpu.return
  }
}
