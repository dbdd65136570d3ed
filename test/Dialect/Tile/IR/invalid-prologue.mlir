// RUN: fovea-opt %s --split-input-file --verify-diagnostics

gpu.module @m {
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    // expected-error@+1 {{sizes of scratch memory 'a' must be strings, found [1]}}
    parameters([#tile.scratch_memref<"a", [1] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    // expected-error@+1 {{scratch memory 'a' needs expressions in one symbol for each of the 1 sizes, found affine_map<(d0) -> (d0)>}}
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<(s) -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    // expected-error@+1 {{scratch memory 'a' needs expressions in one symbol for each of the 1 sizes, found affine_map<()[s0] -> ()>}}
    parameters([#tile.scratch<"a", ["S"] affine_map<()[s] -> ()>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    // expected-error@+1 {{scratch memory 'a' needs one number of bytes, found affine_map<()[s0] -> (s0, s0)>}}
    parameters([#tile.scratch<"a", ["S"] affine_map<()[s] -> (s, s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: no dimension is named 'T'}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["T"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: no dimension is named 'T'}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch<"a", ["T"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: !llvm.ptr<1>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: scratch parameter must be a pointer to global memory, found '!llvm.ptr<3>'}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: !llvm.ptr<3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{argument for scratch memory 'a' must be a contiguous memref of integers or floats with the extents affine_map<()[s0] -> (s0)>, found 'memref<?x?xi32>'}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?x?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{argument for scratch memory 'a' must be a contiguous memref of integers or floats with the extents affine_map<()[s0] -> (s0)>, found 'memref<4xi32>'}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<4xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{argument for scratch memory 'a' must be a contiguous memref of integers or floats with the extents affine_map<()[s0] -> (s0)>, found 'memref<?xindex>'}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xindex>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{argument for scratch memory 'a' must be a contiguous memref of integers or floats with the extents affine_map<()[s0] -> (s0)>, found 'memref<?xi32, strided<[2]>>'}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32, strided<[2]>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{argument for scratch memory 'a' must be a contiguous memref of integers or floats with the extents affine_map<()[s0] -> (s0)>, found 'i32'}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: i32) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernels of the launch differ about scratch memory 'a'}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>, #tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s * 2)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32>, %n: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{prologue must name kernels with a 'tile.abi', found [@h]}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@h])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  tile.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) 
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'f' of the prologue must have no prologue itself}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@f])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  tile.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) 
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'g' of the prologue must be for 'sm_80', found 'sm_90'}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@g])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  tile.abi @g target("sm_90") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) 
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'g' of the prologue must be neither persistent nor a cluster's}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@g])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  tile.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) persistent(1)
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'g' of the prologue must be neither persistent nor a cluster's}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@g])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  tile.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) cluster(2)
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'g' of the prologue takes a tensor that the launch has not: #tile.tensor<"y"}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@g])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  tile.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>, #tile.tensor<"y", read, tensor<?xi32>, ["S"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) 
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'g' of the prologue must take no workspace, found #tile.workspace<4>}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@g])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  tile.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.workspace<4>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) 
  gpu.func @g(%n: !llvm.ptr) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernels of the launch differ about scratch memory 'a'}}
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@g])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  tile.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#tile.scratch_memref<"a", ["S"] affine_map<()[s] -> (s * 2)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) 
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{'overlapped' needs a prologue}}
  tile.abi @f target("sm_90") plan(<#warp.mma_sync_unit>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) overlapped
  gpu.func @f() kernel {
    gpu.return
  }
}
