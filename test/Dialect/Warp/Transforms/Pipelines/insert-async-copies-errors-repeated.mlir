// The operands of a copy must be computable for the next iteration.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-async-copies)))' --split-input-file --verify-diagnostics

!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"rows", write, tensor<?xi32>, ["S"], 4>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"rows", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory, %rows: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %b = warp.alloc : !buffer
    %x = tile.load %rows[%c0] dims [0, -1] : memref<?xi32> to tensor<16x1xi32, #tile.reg>
    tile.store %x, %rows[%c0] dims [0, -1] : tensor<16x1xi32, #tile.reg>, memref<?xi32>
    scf.for %j = %c0 to %n step %c32 {
      // expected-error@+1 {{a copy depends on an op that can't be repeated}}
      %number = memref.load %rows[%j] : memref<?xi32>
      %row = arith.index_cast %number : i32 to index
      warp.copy %k[%row, %c0] dims [0, 1] to %b : !memory to !buffer
    }
    gpu.return
  }
}

// -----

!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %b = warp.alloc : !buffer
    %rows = memref.alloca(%n) : memref<?xindex>
    scf.for %j = %c0 to %n step %c32 {
      // expected-error@+1 {{a copy depends on an op that can't be repeated}}
      %row = memref.load %rows[%j] : memref<?xindex>
      warp.copy %k[%row, %c0] dims [0, 1] to %b : !memory to !buffer
    }
    gpu.return
  }
}
