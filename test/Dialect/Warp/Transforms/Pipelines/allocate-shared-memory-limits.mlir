// The limit of the GPU, and kernels without buffers.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-allocate-shared-memory)))' --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: launch.abi @f
// CHECK-SAME: shared_memory(0)
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_86") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // expected-error@+1 {{kernel needs 131072 bytes of shared memory, but 'sm_86' has 101376}}
  gpu.func @f(%k: !memory) kernel {
    %a = warp.alloc : memref<1024x64xbf16, #warp.shared<row_bytes = 128>>
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  // expected-error@+1 {{unknown target 'sm_75', expected one of 'sm_80'}}
  launch.abi @f target("sm_75") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    gpu.return
  }
}

// -----

// Sizes that overflow 64 bits, also repeatedly.
gpu.module @m {
  launch.abi @too_many target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // expected-error@+1 {{kernel needs 281474976710656 bytes of shared memory, but 'sm_80' has}}
  gpu.func @too_many() kernel {
    %a = warp.alloc : memref<65536x65536x65536x64xbf16, #warp.shared<row_bytes = 128>>
    %b = warp.alloc : memref<65536x65536x65536x65536x64xbf16, #warp.shared<row_bytes = 128>>
    %c = warp.alloc : memref<16x64xbf16, #warp.shared<row_bytes = 128>>
    gpu.return
  }
}
