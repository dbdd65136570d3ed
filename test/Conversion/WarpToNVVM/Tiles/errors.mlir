// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file --verify-diagnostics

gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %z = arith.constant 0 : i32
    %p = warp.pipeline : !warp.pipeline<1>
    // expected-error@+1 {{waits for a stage that no earlier op commits}}
    warp.consumer_wait %p[%z, %z] : !warp.pipeline<1>
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %z = arith.constant 0 : i32
    %p = warp.pipeline : !warp.pipeline<1>
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    // expected-error@+1 {{commits and waits of a pipeline do not balance in an iteration}}
    scf.for %j = %c0 to %n step %c32 {
    warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
    }
    warp.consumer_wait %p[%z, %z] : !warp.pipeline<1>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %z = arith.constant 0 : i32
    %p = warp.pipeline : !warp.pipeline<1>
    %yes = arith.constant true
    // expected-error@+1 {{must not contain commits or waits of a pipeline without specialised roles}}
    scf.if %yes {
    warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    // expected-error@+1 {{register tile has no layout; run 'warp-assign-layouts' first}}
    %i = tile.iota dim 0 : tensor<64x1xi32, #tile.reg>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel needs 32 threads for each of 4 warps, found 64}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1], offset: 4>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // expected-error@+1 {{argument #0 must be strided, from offset 0, found 'memref<?x32xbf16, strided<[?, 1], offset: 4>>'}}
  gpu.func @f(%k: !memory) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, warps = 2>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
  gpu.func @f() kernel {
    // expected-error@+2 {{failed to legalize operation 'warp.alloc'}}
    // expected-error@+1 {{shared buffer has no offset; run 'warp-allocate-shared-memory' first}}
    %b = warp.alloc : memref<32x32xbf16, #warp.shared<row_bytes = 64>>
    %q = warp.local_load %b : memref<32x32xbf16, #warp.shared<row_bytes = 64>> to tensor<32x32xbf16, #warp.mma_sync<warps = 2>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %x = arith.constant dense<1.0> : tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    // expected-error@+2 {{failed to legalize operation 'tile.reduce'}}
    // expected-error@+1 {{a reduction along dimension 0 crosses warps, which this layout does not support}}
    %m = tile.reduce max dim 0 %x : tensor<64x32xf32, #warp.mma_sync<warps = 4>> to tensor<1x32xf32, #warp.mma_sync<warps = 4>>
    gpu.return
  }
}

// -----

!memory = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    // expected-error@+1 {{'math.round' is not supported in a kernel}}
    %m = math.round %x : tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    tile.store %m, %k[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f() kernel {
    // expected-error@+2 {{failed to legalize operation 'tile.held_rows'}}
    // expected-error@+1 {{tile has no layout; run 'warp-assign-layouts' first}}
    %first, %count = tile.held_rows tensor<128x1xf32, #tile.reg>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f() kernel {
    // expected-error@+2 {{failed to legalize operation 'tile.held_rows'}}
    // expected-error@+1 {{must be in a role: its warp groups own 64 rows each}}
    %first, %count = tile.held_rows tensor<128x1xf32, #warp.wgmma<groups = 2>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %a = warp.alloc offset(0) : memref<16x192xf16, #warp.shared<row_bytes = 128>>
    %b = warp.alloc offset(2048) : memref<16x16xf16, #warp.shared<row_bytes = 32>>
    %zero = arith.constant dense<0.0> : tensor<192x16xf32, #warp.mma_sync<warps = 4>>
    // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
    // expected-error@+1 {{mma.sync needs all columns of a transposed first operand, 16 times a power of two for each warp; found 192 rows of the result for 4 warps}}
    %d = warp.dot %a, %b, %zero transpose_a : memref<16x192xf16, #warp.shared<row_bytes = 128>>, memref<16x16xf16, #warp.shared<row_bytes = 32>>, tensor<192x16xf32, #warp.mma_sync<warps = 4>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %a = warp.alloc offset(0) : memref<64x16xf16, #warp.shared<row_bytes = 32>>
    %b = warp.alloc offset(2048) : memref<16x64xf16, #warp.shared<row_bytes = 128>>
    %zero = arith.constant dense<0.0> : tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
    // expected-error@+1 {{needs a first column that is a multiple of 16, found 8}}
    %d = warp.dot %a, %b, %zero columns(8) : memref<64x16xf16, #warp.shared<row_bytes = 32>>, memref<16x64xf16, #warp.shared<row_bytes = 128>>, tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    gpu.return
  }
}

// -----

!vector = memref<1x32xbf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?xbf16>, ["S"], 16>]) parameters([#launch.memref<"k", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(64)
  gpu.func @f(%k: memref<?xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(0) : !vector
    // expected-error@+2 {{fragments are copied by TMA: expected an asynchronous copy in a role}}
    // expected-error@+1 {{failed to legalize operation 'warp.copy'}}
    warp.copy %k[%c0] dims [-1, 0] fragments to %b : memref<?xbf16> to !vector
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @f() kernel {
    %b = warp.alloc offset(0) : memref<32x32xf8E4M3FN, #warp.shared<row_bytes = 32>>
    %a = warp.alloc offset(1024) : memref<64x32xf8E4M3FN, #warp.shared<row_bytes = 32>>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
    // expected-error@+1 {{mma.sync multiplies f16, bf16 or f32, found 'f8E4M3FN'}}
    %d = warp.dot %a, %b, %zero : memref<64x32xf8E4M3FN, #warp.shared<row_bytes = 32>>, memref<32x32xf8E4M3FN, #warp.shared<row_bytes = 32>>, tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @f() kernel {
    %b = warp.alloc offset(0) : memref<8x16xbf16, #warp.shared<row_bytes = 32>>
    %a = arith.constant dense<1.0> : tensor<64x8xbf16, #warp.mma_sync<warps = 4>>
    %zero = arith.constant dense<0.0> : tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
    // expected-error@+1 {{dots need a multiple of 16 columns and a sum over a multiple of 16, found 16 and 8}}
    %d = warp.dot %a, %b, %zero : tensor<64x8xbf16, #warp.mma_sync<warps = 4>>, memref<8x16xbf16, #warp.shared<row_bytes = 32>>, tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @f() kernel {
    // A thread holds relative positions of both parts and of their boundary.
    %x = tile.iota dim 1 : tensor<1x96xi32, #warp.diagonals<rows = 64, warps = 4>>
    // expected-error@+2 {{failed to legalize operation 'warp.concat_columns'}}
    // expected-error@+1 {{parts do not cover all columns of 'tensor<1x192xi32, #warp.diagonals<rows = 64, warps = 4>>'}}
    %y = warp.concat_columns %x, %x : tensor<1x96xi32, #warp.diagonals<rows = 64, warps = 4>>, tensor<1x96xi32, #warp.diagonals<rows = 64, warps = 4>> to tensor<1x192xi32, #warp.diagonals<rows = 64, warps = 4>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @f() kernel {
    %x = tile.iota dim 1 : tensor<1x160xi32, #warp.diagonals<rows = 64, warps = 4>>
    // expected-error@+2 {{failed to legalize operation 'tile.reduce'}}
    // expected-error@+1 {{a reduction to 80 needs threads to exchange elements; the layout supports 1 and multiples of}}
    %m = tile.reduce max dim 1 %x : tensor<1x160xi32, #warp.diagonals<rows = 64, warps = 4>> to tensor<1x80xi32, #warp.diagonals<rows = 64, warps = 4>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>) tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @f(%k: memref<?x32xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %view = memref.subview %k[0, 0] [%c2, 32] [1, 1] : memref<?x32xf32, strided<[?, 1]>> to memref<?x32xf32, strided<[?, 1]>>
    // expected-error@+2 {{failed to legalize operation 'tile.load'}}
    // expected-error@+1 {{memory must be an argument of the kernel}}
    %x = tile.load %view[%c0, %c0] dims [0, 1] : memref<?x32xf32, strided<[?, 1]>> to tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    gpu.return
  }
}

// -----

!memory = memref<64x?xbf16, strided<[1, ?]>>
!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<64x?xbf16>, ["D", "S"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8192)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(0) : !buffer
    // expected-error@+2 {{failed to legalize operation 'warp.copy'}}
    // expected-error@+1 {{copies move 16 bytes at a time: columns must be contiguous and elements have 8, 16 or 32 bits}}
    warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory, %n: index) kernel {
    // expected-error@+2 {{failed to legalize operation 'memref.dim'}}
    // expected-error@+1 {{dimension must be a constant from 0 to 1}}
    %d = memref.dim %k, %n : !memory
    gpu.return
  }
}
