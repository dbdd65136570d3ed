// Buffers are placed one after the other.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-allocate-shared-memory)))' --split-input-file --verify-diagnostics | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  // One after the other, each aligned to 1024 bytes; the ABI has the total size.
  // CHECK-LABEL: launch.abi @tiles
  // CHECK-SAME: shared_memory(7168)
  // CHECK: warp.alloc offset(0) : memref<16x16xbf16
  // CHECK: warp.alloc offset(1024) : memref<2x32x32xbf16
  // CHECK: warp.alloc offset(5120) : memref<32x32xbf16
  launch.abi @tiles target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @tiles(%k: !memory) kernel {
    %a = warp.alloc : memref<16x16xbf16, #warp.shared<row_bytes = 32>>
    %b = warp.alloc offset(8192) : memref<2x32x32xbf16, #warp.shared<row_bytes = 64>>
    %c = warp.alloc : memref<32x32xbf16, #warp.shared<row_bytes = 64>>
    gpu.return
  }

  // One element per row is a vector: no panels, no swizzle, placed after the tiles.
  // CHECK-LABEL: launch.abi @vectors
  // CHECK-SAME: shared_memory(3136)
  // CHECK: warp.alloc offset(2048) : memref<2x128x1xf32
  // CHECK: warp.alloc offset(0) : memref<32x32xbf16
  // CHECK: warp.alloc offset(3072) : memref<16x1xf32
  launch.abi @vectors target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @vectors() kernel {
    %rows = warp.alloc : memref<2x128x1xf32, #warp.shared<row_bytes = 64>>
    %a = warp.alloc : memref<32x32xbf16, #warp.shared<row_bytes = 64>>
    %few = warp.alloc : memref<16x1xf32, #warp.shared<row_bytes = 64>>
    gpu.return
  }

  // A row of 32-bit elements is a vector, too; a row of 16-bit elements may be a TMA box.
  // CHECK-LABEL: launch.abi @rows
  // CHECK-SAME: shared_memory(2816)
  // CHECK: warp.alloc offset(2048) : memref<1x192xf32
  // CHECK: warp.alloc offset(0) : memref<1x64xbf16
  // CHECK: warp.alloc offset(1024) : memref<16x16xbf16
  launch.abi @rows target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @rows() kernel {
    %row = warp.alloc : memref<1x192xf32, #warp.shared<row_bytes = 128>>
    %box = warp.alloc : memref<1x64xbf16, #warp.shared<row_bytes = 128>>
    %a = warp.alloc : memref<16x16xbf16, #warp.shared<row_bytes = 32>>
    gpu.return
  }

  // Ones are placed after all buffers, wherever they are created.
  // CHECK-LABEL: launch.abi @ones
  // CHECK-SAME: shared_memory(4096)
  // CHECK: warp.ones offset(2048) : memref<16x8xbf16
  // CHECK: warp.alloc offset(0) : memref<32x32xbf16
  launch.abi @ones target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @ones() kernel {
    %ones = warp.ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>
    %a = warp.alloc : memref<32x32xbf16, #warp.shared<row_bytes = 64>>
    gpu.return
  }

  // In a kernel with roles, pipelines get two barriers of 8 bytes for each stage and mailboxes 4
  // bytes for each slot, after the buffers; 16 bytes are spare. A partial last panel has its full
  // size.
  // CHECK-LABEL: launch.abi @roles
  // CHECK-SAME: shared_memory(16456)
  // CHECK: warp.pipeline offset(16384) : !warp.pipeline<2>
  // CHECK: warp.mailbox offset(16416) : !warp.mailbox<1>
  // CHECK: warp.pipeline offset(16424) : !warp.pipeline<1>
  // CHECK: warp.alloc offset(0) : memref<64x80xbf16
  launch.abi @roles target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @roles() kernel {
    %p = warp.pipeline : !warp.pipeline<2>
    %m = warp.mailbox : !warp.mailbox<1>
    %r = warp.pipeline : !warp.pipeline<1>
    %a = warp.alloc : memref<64x80xbf16, #warp.shared<row_bytes = 128>>
    warp.specialize
      role @load warps(4) regs(24) { warp.return }
      role @compute warps(8) regs(240) { warp.return }
    gpu.return
  }
}
