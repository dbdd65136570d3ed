// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' --split-input-file | FileCheck %s

// A load that no dot reads stays a load from global memory.
// CHECK-LABEL: gpu.func @f
!memory = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    // CHECK: %[[BIAS:.*]] = tile.load
    // CHECK-NOT: warp.
    // CHECK: arith.addf %[[BIAS]], %[[BIAS]]
    // CHECK: gpu.return
    %a = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x32xf32, #tile.reg>
    %b = arith.addf %a, %a : tensor<64x32xf32, #tile.reg>
    gpu.return
  }
}

// -----

// A load that dots and other ops use is also loaded from global memory.
// CHECK-LABEL: gpu.func @f
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #tile.reg>
    // CHECK: warp.copy
    // CHECK: %[[A:.*]] = tile.load
    // CHECK: warp.dot
    // CHECK: arith.mulf %[[A]], %[[A]]
    %a = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x32xbf16, #tile.reg>
    %d = tile.dot %a, %a, %zero transpose_b : tensor<64x32xbf16, #tile.reg>, tensor<64x32xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
    %m = arith.mulf %a, %a : tensor<64x32xbf16, #tile.reg>
    gpu.return
  }
}
