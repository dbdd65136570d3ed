// Buffers are placed one after the other.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-allocate-shared-memory)))' --split-input-file --verify-diagnostics | FileCheck %s

// One after the other, each aligned to 1024 bytes; the ABI has the total size.
// CHECK-LABEL: launch.abi @f
// CHECK-SAME: shared_memory(7168)
// CHECK: warp.alloc offset(0) : memref<16x16xbf16
// CHECK: warp.alloc offset(1024) : memref<2x32x32xbf16
// CHECK: warp.alloc offset(5120) : memref<32x32xbf16
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %a = warp.alloc : memref<16x16xbf16, #warp.shared<row_bytes = 32>>
    %b = warp.alloc offset(8192) : memref<2x32x32xbf16, #warp.shared<row_bytes = 64>>
    %c = warp.alloc : memref<32x32xbf16, #warp.shared<row_bytes = 64>>
    gpu.return
  }
}

// -----

// One element per row is a vector: no panels, no swizzle, placed after the tiles.
// CHECK-LABEL: launch.abi @f
// CHECK-SAME: shared_memory(3136)
// CHECK: warp.alloc offset(2048) : memref<2x128x1xf32
// CHECK: warp.alloc offset(0) : memref<32x32xbf16
// CHECK: warp.alloc offset(3072) : memref<16x1xf32
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %rows = warp.alloc : memref<2x128x1xf32, #warp.shared<row_bytes = 64>>
    %a = warp.alloc : memref<32x32xbf16, #warp.shared<row_bytes = 64>>
    %few = warp.alloc : memref<16x1xf32, #warp.shared<row_bytes = 64>>
    gpu.return
  }
}

// -----

// A row of 32-bit elements is a vector, too; a row of 16-bit elements may be a TMA box.
// CHECK-LABEL: launch.abi @f
// CHECK-SAME: shared_memory(2816)
// CHECK: warp.alloc offset(2048) : memref<1x192xf32
// CHECK: warp.alloc offset(0) : memref<1x64xbf16
// CHECK: warp.alloc offset(1024) : memref<16x16xbf16
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %row = warp.alloc : memref<1x192xf32, #warp.shared<row_bytes = 128>>
    %box = warp.alloc : memref<1x64xbf16, #warp.shared<row_bytes = 128>>
    %a = warp.alloc : memref<16x16xbf16, #warp.shared<row_bytes = 32>>
    gpu.return
  }
}

// -----

// Ones are placed after all buffers, wherever they are created.
// CHECK-LABEL: launch.abi @f
// CHECK-SAME: shared_memory(4096)
// CHECK: warp.ones offset(2048) : memref<16x8xbf16
// CHECK: warp.alloc offset(0) : memref<32x32xbf16
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %ones = warp.ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>
    %a = warp.alloc : memref<32x32xbf16, #warp.shared<row_bytes = 64>>
    gpu.return
  }
}
