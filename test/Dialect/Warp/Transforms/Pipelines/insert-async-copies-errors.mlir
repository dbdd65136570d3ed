// Copies that cannot be made asynchronous.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-async-copies)))' --split-input-file --verify-diagnostics

!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @no_abi() kernel {
    gpu.return
  }

  // All copies of a loop share one ring position.
  launch.abi @other_stages target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, streams = [<"k", stages = 3>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @other_stages(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %a = warp.alloc : !buffer
    %b = warp.alloc : !buffer
    scf.for %j = %c0 to %n step %c32 {
      // expected-note@+1 {{the other copy}}
      warp.copy "k" %k[%j, %c0] dims [0, 1] to %a : !memory to !buffer
      // expected-error@+1 {{has 2 stages, but another copy of its loop has 3}}
      warp.copy "v" %k[%j, %c0] dims [0, 1] to %b : !memory to !buffer
    }
    gpu.return
  }

  launch.abi @i32_loop target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @i32_loop(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %first = arith.constant 0 : i32
    %last = arith.constant 64 : i32
    %step = arith.constant 32 : i32
    %b = warp.alloc : !buffer
    // expected-error@+1 {{a loop with copies must count in 'index', found 'i32'}}
    scf.for %j = %first to %last step %step : i32 {
      warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    }
    gpu.return
  }

  // An asynchronous copy must be unconditional, into a buffer of its own.
  launch.abi @conditional target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @conditional(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %b = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #tile.reg>) {
      %yes = arith.constant true
      // expected-error@+1 {{only unconditional copies into a buffer of their own can be made asynchronous}}
      warp.copy %k[%j, %c0] if(%yes) dims [0, 1] to %b : !memory to !buffer
      %s = warp.dot %a, %b, %acc transpose_b : tensor<64x32xbf16, #tile.reg>, !buffer, tensor<64x32xf32, #tile.reg>
      scf.yield %s : tensor<64x32xf32, #tile.reg>
    }
    gpu.return
  }

  launch.abi @no_buffer target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @no_buffer(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %b = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #tile.reg>) {
      // expected-error@+1 {{only unconditional copies into a buffer of their own can be made asynchronous}}
      warp.copy %k[%j, %c0] dims [0, 1] to %b : !memory to !buffer
      warp.copy %k[%j, %c0] dims [0, 1] to %b : !memory to !buffer
      %s = warp.dot %a, %b, %acc transpose_b : tensor<64x32xbf16, #tile.reg>, !buffer, tensor<64x32xf32, #tile.reg>
      scf.yield %s : tensor<64x32xf32, #tile.reg>
    }
    gpu.return
  }

  // The operands of a copy must not depend on loop-carried values.
  launch.abi @carried target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @carried(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %b = warp.alloc : !buffer
    // expected-error@+1 {{the indices or the limit of a prefetched copy depend on a loop-carried value}}
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%row = %c0) -> (index) {
      warp.copy %k[%row, %c0] dims [0, 1] to %b : !memory to !buffer
      %next = arith.addi %row, %c32 : index
      scf.yield %next : index
    }
    gpu.return
  }

  // A buffer must be read in the block that fills it.
  launch.abi @outside_loop target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @outside_loop(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %b = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #tile.reg>) {
      warp.copy %k[%j, %c0] dims [0, 1] to %b : !memory to !buffer
      %s = warp.dot %a, %b, %acc transpose_b : tensor<64x32xbf16, #tile.reg>, !buffer, tensor<64x32xf32, #tile.reg>
      scf.yield %s : tensor<64x32xf32, #tile.reg>
    }
    // expected-error@+1 {{reads a buffer outside the loop that fills it}}
    %after = warp.local_load %b : !buffer to tensor<32x32xbf16, #tile.reg>
    gpu.return
  }

  launch.abi @outside_block target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @outside_block(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %yes = arith.constant true
    %b = warp.alloc : !buffer
    scf.if %yes {
      warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    }
    // expected-error@+1 {{reads a buffer outside the block that fills it}}
    %after = warp.local_load %b : !buffer to tensor<32x32xbf16, #tile.reg>
    gpu.return
  }

  // The operands of a copy must be computable for the next iteration.
  launch.abi @written_rows target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"rows", write, tensor<?xi32>, ["S"], 4>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"rows", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @written_rows(%k: !memory, %rows: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %b = warp.alloc : !buffer
    %x = tile.load %rows[%c0] dims [0, -1] : memref<?xi32> to tensor<16x1xi32, #tile.reg>
    tile.store %x, %rows[%c0] dims [0, -1] : tensor<16x1xi32, #tile.reg>, memref<?xi32>
    scf.for %j = %c0 to %n step %c32 {
      // expected-error@+1 {{the indices or the limit of a prefetched copy depend on this op: expected a pure op without regions or a load from a read-only kernel argument}}
      %number = memref.load %rows[%j] : memref<?xi32>
      %row = arith.index_cast %number : i32 to index
      warp.copy %k[%row, %c0] dims [0, 1] to %b : !memory to !buffer
    }
    gpu.return
  }

  launch.abi @alloca target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @alloca(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %b = warp.alloc : !buffer
    %rows = memref.alloca(%n) : memref<?xindex>
    scf.for %j = %c0 to %n step %c32 {
      // expected-error@+1 {{the indices or the limit of a prefetched copy depend on this op: expected a pure op without regions or a load from a read-only kernel argument}}
      %row = memref.load %rows[%j] : memref<?xindex>
      warp.copy %k[%row, %c0] dims [0, 1] to %b : !memory to !buffer
    }
    gpu.return
  }
}
