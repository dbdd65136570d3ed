// RUN: fovea-opt %s --split-input-file --verify-diagnostics

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    // expected-error@+1 {{sizes of scratch memory 'a' must be strings, found [1]}}
    parameters([#launch.scratch_memref<"a", [1] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    // expected-error@+1 {{scratch memory 'a' needs expressions in one symbol for each of the 1 sizes, found affine_map<(d0) -> (d0)>}}
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<(s) -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    // expected-error@+1 {{scratch memory 'a' needs expressions in one symbol for each of the 1 sizes, found affine_map<()[s0] -> ()>}}
    parameters([#launch.scratch<"a", ["S"] affine_map<()[s] -> ()>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    // expected-error@+1 {{scratch memory 'a' needs one number of bytes, found affine_map<()[s0] -> (s0, s0)>}}
    parameters([#launch.scratch<"a", ["S"] affine_map<()[s] -> (s, s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: no dimension is named 'T'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["T"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: no dimension is named 'T'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch<"a", ["T"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: !llvm.ptr<1>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: scratch parameter must be a pointer to global memory, found '!llvm.ptr<3>'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: !llvm.ptr<3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{argument for scratch memory 'a' must be a contiguous memref of integers or floats with the extents affine_map<()[s0] -> (s0)>, found 'memref<?x?xi32>'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?x?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{argument for scratch memory 'a' must be a contiguous memref of integers or floats with the extents affine_map<()[s0] -> (s0)>, found 'memref<4xi32>'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<4xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{argument for scratch memory 'a' must be a contiguous memref of integers or floats with the extents affine_map<()[s0] -> (s0)>, found 'memref<?xindex>'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xindex>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{argument for scratch memory 'a' must be a contiguous memref of integers or floats with the extents affine_map<()[s0] -> (s0)>, found 'memref<?xi32, strided<[2]>>'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32, strided<[2]>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{argument for scratch memory 'a' must be a contiguous memref of integers or floats with the extents affine_map<()[s0] -> (s0)>, found 'i32'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: i32) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernels of the launch must agree on scratch memory 'a'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>, #launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s * 2)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%m: memref<?xi32>, %n: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{prologue must name kernels with a 'launch.abi', found [@h]}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@h])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  launch.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) 
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'f' of the prologue must have no prologue and no epilogue itself}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@f])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  launch.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) 
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'g' of the prologue must be for 'sm_80', found 'sm_90'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@g])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  launch.abi @g target("sm_90") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) 
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'g' of the prologue must be neither persistent nor in a cluster}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@g])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  launch.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) persistent(1)
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'g' of the prologue must be neither persistent nor in a cluster}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@g])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  launch.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) cluster(2)
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'g' of the prologue uses a tensor that is not an operand of the launch: #launch.tensor<"y"}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@g])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  launch.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>, #launch.tensor<"y", read, tensor<?xi32>, ["S"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) 
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'g' of the prologue must have no workspace, found #launch.workspace<4>}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@g])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  launch.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.workspace<4>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) 
  gpu.func @g(%n: !llvm.ptr) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernels of the launch must agree on scratch memory 'a'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) prologue([@g])
  gpu.func @f(%m: memref<?xi32>) kernel {
    gpu.return
  }
  launch.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s * 2)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) 
  gpu.func @g(%m: memref<?xi32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{'overlapped' needs a kernel before this one}}
  launch.abi @f target("sm_90") plan(<#warp.mma_sync_unit>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) overlapped
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{epilogue must name kernels with a 'launch.abi', found [@h]}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) epilogue([@h])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'g' of the epilogue must be neither persistent nor in a cluster}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) epilogue([@g])
  gpu.func @f() kernel {
    gpu.return
  }
  launch.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) persistent(1)
  gpu.func @g() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernels of the launch must agree on scratch memory 'a'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0) epilogue([@g])
  gpu.func @f(%a: memref<?xi32>) kernel {
    gpu.return
  }
  launch.abi @g target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xi32>, ["S", "D"], 4>])
    parameters([#launch.scratch_memref<"a", ["S"] affine_map<()[s] -> (s + 1)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @g(%a: memref<?xi32>) kernel {
    gpu.return
  }
}
