// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' --split-input-file | FileCheck %s

// The widest panels that divide the columns.

// CHECK-LABEL: gpu.func @columns16
// CHECK: warp.alloc : memref<{{64|16}}x16xbf16, #warp.shared<row_bytes = 32>>
!memory = memref<?x16xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @columns16 target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x16xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @columns16(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x16xf32, #tile.reg>
    %a = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x16xbf16, #tile.reg>
    %b = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<16x16xbf16, #tile.reg>
    %d = tile.dot %a, %b, %zero transpose_b : tensor<64x16xbf16, #tile.reg>, tensor<16x16xbf16, #tile.reg>, tensor<64x16xf32, #tile.reg>
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.func @columns48
// CHECK: warp.alloc : memref<{{64|16}}x48xbf16, #warp.shared<row_bytes = 32>>
!memory = memref<?x48xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @columns48 target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x48xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @columns48(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x16xf32, #tile.reg>
    %a = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x48xbf16, #tile.reg>
    %b = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<16x48xbf16, #tile.reg>
    %d = tile.dot %a, %b, %zero transpose_b : tensor<64x48xbf16, #tile.reg>, tensor<16x48xbf16, #tile.reg>, tensor<64x16xf32, #tile.reg>
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.func @columns96
// CHECK: warp.alloc : memref<{{64|16}}x96xbf16, #warp.shared<row_bytes = 64>>
!memory = memref<?x96xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @columns96 target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x96xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @columns96(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x16xf32, #tile.reg>
    %a = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x96xbf16, #tile.reg>
    %b = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<16x96xbf16, #tile.reg>
    %d = tile.dot %a, %b, %zero transpose_b : tensor<64x96xbf16, #tile.reg>, tensor<16x96xbf16, #tile.reg>, tensor<64x16xf32, #tile.reg>
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.func @columns192
// CHECK: warp.alloc : memref<{{64|16}}x192xbf16, #warp.shared<row_bytes = 128>>
!memory = memref<?x192xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @columns192 target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x192xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @columns192(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x16xf32, #tile.reg>
    %a = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x192xbf16, #tile.reg>
    %b = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<16x192xbf16, #tile.reg>
    %d = tile.dot %a, %b, %zero transpose_b : tensor<64x192xbf16, #tile.reg>, tensor<16x192xbf16, #tile.reg>, tensor<64x16xf32, #tile.reg>
    gpu.return
  }
}
