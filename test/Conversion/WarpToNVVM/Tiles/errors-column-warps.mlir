// Ops that need warps with whole rows.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file --verify-diagnostics

!memory = memref<?x64xbf16, strided<[?, 1]>>
!shared = tensor<64x64xf32, #warp.mma_sync<warps = 2, column_warps = 2>>
gpu.module @m {
  launch.abi @operand target("sm_80") plan(<#warp.mma_sync_unit, column_warps = 2>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @operand(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(0) : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    %a = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x64xbf16, #warp.mma_sync<warps = 2, column_warps = 2>>
    %zero = arith.constant dense<0.0> : !shared
    // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
    // expected-error@+1 {{needs warps with whole rows for a first operand in registers, found 'tensor<64x64xf32, #warp.mma_sync<warps = 2, column_warps = 2>>'}}
    %d = warp.dot %a, %b, %zero : tensor<64x64xbf16, #warp.mma_sync<warps = 2, column_warps = 2>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, !shared
    gpu.return
  }
}

// -----

!shared = tensor<64x64xf32, #warp.mma_sync<warps = 2, column_warps = 2>>
gpu.module @m {
  launch.abi @part target("sm_80") plan(<#warp.mma_sync_unit, column_warps = 2>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @part() kernel {
    %a = warp.alloc offset(0) : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    %b = warp.alloc offset(8192) : memref<64x128xbf16, #warp.shared<row_bytes = 128>>
    %zero = arith.constant dense<0.0> : !shared
    // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
    // expected-error@+1 {{needs a first column that is a multiple of 32, found 16}}
    %d = warp.dot %a, %b, %zero columns(16) : memref<64x64xbf16, #warp.shared<row_bytes = 128>>, memref<64x128xbf16, #warp.shared<row_bytes = 128>>, !shared
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @rows target("sm_80") plan(<#warp.mma_sync_unit, column_warps = 2>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @rows() kernel {
    %x = arith.constant dense<1.0> : tensor<64x32xf32, #warp.mma_sync<warps = 2, column_warps = 2>>
    // expected-error@+2 {{failed to legalize operation 'tile.reduce'}}
    // expected-error@+1 {{a reduction along dimension 1 crosses warps, which this layout does not support}}
    %m = tile.reduce max dim 1 %x : tensor<64x32xf32, #warp.mma_sync<warps = 2, column_warps = 2>> to tensor<64x1xf32, #warp.mma_sync<warps = 2, column_warps = 2>>
    gpu.return
  }
}

// -----

// Two warps hold each element of a column: both would add it.
gpu.module @m {
  launch.abi @sums target("sm_80") plan(<#warp.mma_sync_unit, column_warps = 2>)
    tensors([#launch.tensor<"t", write, tensor<?xf32>, ["S"], 4>]) parameters([#launch.memref<"t", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @sums(%t: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<1.0> : tensor<64x1xf32, #warp.mma_sync<warps = 2, column_warps = 2>>
    // expected-error@+2 {{failed to legalize operation 'tile.scatter'}}
    // expected-error@+1 {{expected a tile of several rows whose elements are partitioned among threads}}
    tile.scatter add %x, %t[%c0] : tensor<64x1xf32, #warp.mma_sync<warps = 2, column_warps = 2>>, memref<?xf32>[index]
    gpu.return
  }
}
