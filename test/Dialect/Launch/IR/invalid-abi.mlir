// RUN: fovea-opt %s --split-input-file --verify-diagnostics

gpu.module @m {
  // expected-error@+1 {{expected #launch.tensor attributes, found 1 : i64}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([1])
    parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{two tensors are named 'q'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>, #launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{dimension 'S' has different sizes in two tensors' types}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>, #launch.tensor<"k", read, tensor<8x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{expected parameter attributes, found 1 : i64}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([1])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{no dimension is named 'T'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"q", [0, 1]>])
    grid(["T"] affine_map<()[t] -> (t)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{grid must be one expression in one symbol for each of the 1 sizes}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<(s) -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{threads must be in [1, 1024], found 0}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(0) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{shared_memory must not be negative}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(-1)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{no kernel is named 'g'}}
  launch.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{has 0 parameters, but 'f' has 1 arguments}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: no tensor is named 'k'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"k", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: argument for tensor 'q' must be a memref of rank 2 of 'f32', found 'memref<?xf32>'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: order of tensor 'q' must list each of the dimensions 0 to 1 once, found array<i64: 0, 0>}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"q", [0, 0]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: argument for tensor 'q' does not have its sizes, found 'memref<?x64xf32>' for 'tensor<?x64xf32>'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"q", [1, 0]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: no tensor is named 'k'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.pointer<"k">])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: !llvm.ptr) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: pointer parameter must be a pointer, found 'i64'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.pointer<"q">])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: i64) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: size parameter must be i32, found 'i64'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.size<"S">])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: i64) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: no dimension is named 'T'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.size<"T">])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: i32) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: no tensor is named 'k'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.stride<"k", 0>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: i64) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: tensor 'q' has no dimension 2}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.stride<"q", 2>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: i64) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: stride parameter must be i64, found 'i32'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.stride<"q", 0>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: i32) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: scalar parameter must be of the type that it names, found 'i64'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.scalar<"n", f32>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: i64) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  // expected-error@+1 {{is a second 'launch.abi' of kernel 'f'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  }
}

// -----

// expected-error@+1 {{expects parent op 'gpu.module'}}
launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
  grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
func.func private @f()

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>]) parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    // expected-error@+1 {{a constant register tile must be a splat; tiles that vary come from tile.iota or from memory}}
    %c = arith.constant dense<[[0.0], [1.0]]> : tensor<2x1xf32, #tile.reg>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>]) parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    // expected-error@+1 {{a kernel's tensors must be register tiles, found 'tensor<4xf32>'}}
    %c = arith.constant dense<1.0> : tensor<4xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xf32>, ["S", "D"], 4>]) parameters([#launch.memref<"q", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>) kernel {
    gpu.return
  // expected-error@+1 {{a kernel's tensors must be register tiles, found 'tensor<4xf32>'}}
  ^unreachable(%t: tensor<4xf32>):
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{generator 2 is not known, expected 1}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) generator(2)
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{must have 'generator(1)', since 'f' uses these random numbers}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %c0 = arith.constant 0 : index
    %key = arith.constant 0 : i64
    // expected-note@+1 {{here}}
    %r = tile.random key(%key) stream(%key) [%c0, %c0] dim 1 : tensor<16x16xi32, #tile.reg>
    gpu.return
  }
}

// -----

// expected-error@+1 {{a stride must have 32 or 64 bits, found 16}}
#s = #launch.stride<"q", 0, 16>

// -----

gpu.module @m {
  // expected-error@+1 {{workspace parameter must be a static memref with one dimension of integers or floats, at most 65536 bytes, found 'memref<16385xi32>'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([#launch.workspace_memref])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%counters: memref<16385xi32>) kernel {
    gpu.return
  }
}
