// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-allocate-shared-memory)))' --split-input-file --verify-diagnostics | FileCheck %s

// One after the other, each aligned to 1024 bytes; the ABI says the sum.
// CHECK: tile.abi @f
// CHECK-SAME: shared_memory(7168)
// CHECK: warp.alloc offset(0) : memref<16x16xbf16
// CHECK: warp.alloc offset(1024) : memref<2x32x32xbf16
// CHECK: warp.alloc offset(5120) : memref<32x32xbf16
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  tile.abi @f target("sm_80") schedule(<tile_m = 64, tile_n = 32, warps = 4, stages = 2, query_in_registers = 0, min_blocks = 1>)
    tensors([#tile.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#tile.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %a = warp.alloc : memref<16x16xbf16, #warp.shared<panel = 16>>
    %b = warp.alloc offset(8192) : memref<2x32x32xbf16, #warp.shared<panel = 32>>
    %c = warp.alloc : memref<32x32xbf16, #warp.shared<panel = 32>>
    gpu.return
  }
}

// -----

// CHECK: tile.abi @f
// CHECK-SAME: shared_memory(0)
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  tile.abi @f target("sm_80") schedule(<tile_m = 64, tile_n = 32, warps = 4, stages = 2, query_in_registers = 0, min_blocks = 1>)
    tensors([#tile.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#tile.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel has no 'tile.abi' beside it}}
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  tile.abi @f target("sm_86") schedule(<tile_m = 64, tile_n = 32, warps = 4, stages = 2, query_in_registers = 0, min_blocks = 1>)
    tensors([#tile.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#tile.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // expected-error@+1 {{kernel needs 131072 bytes of shared memory, 'sm_86' has 101376}}
  gpu.func @f(%k: !memory) kernel {
    %a = warp.alloc : memref<1024x64xbf16, #warp.shared<panel = 64>>
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  // expected-error@+1 {{unknown target 'sm_75', expected one of 'sm_80'}}
  tile.abi @f target("sm_75") schedule(<tile_m = 64, tile_n = 32, warps = 4, stages = 2, query_in_registers = 0, min_blocks = 1>)
    tensors([#tile.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#tile.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    gpu.return
  }
}
