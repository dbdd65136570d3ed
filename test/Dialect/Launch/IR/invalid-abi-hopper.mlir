// RUN: fovea-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{tensor map of 'k' must have 1 to 5 dimensions, found 6}}
#attr = #launch.tensor_map<"k", [0, 1, 2, 3, 4, 5], box = [8, 1, 1, 1, 1, 1], swizzle = 0>

// -----

// expected-error@+1 {{tensor map of 'k' must have 1 to 5 dimensions, found 0}}
#attr = #launch.tensor_map<"k", [], box = [], swizzle = 0>

// -----

// expected-error@+1 {{tensor map of 'k' must list each of the dimensions 0 to 1 once, found array<i64: 1, 1>}}
#attr = #launch.tensor_map<"k", [1, 1], box = [8, 1], swizzle = 0>

// -----

// expected-error@+1 {{tensor map of 'k' must list each of the dimensions 0 to 1 once, found array<i64: 2, 0>}}
#attr = #launch.tensor_map<"k", [2, 0], box = [8, 1], swizzle = 0>

// -----

// expected-error@+1 {{tensor map of 'k' must list each of the dimensions 0 to 1 once, found array<i64: -1, 0>}}
#attr = #launch.tensor_map<"k", [-1, 0], box = [8, 1], swizzle = 0>

// -----

// expected-error@+1 {{box of tensor map of 'k' must have 2 extents, found 1}}
#attr = #launch.tensor_map<"k", [1, 0], box = [8], swizzle = 0>

// -----

// expected-error@+1 {{box of tensor map of 'k' must have extents in [1, 256], found 257}}
#attr = #launch.tensor_map<"k", [1, 0], box = [8, 257], swizzle = 0>

// -----

// expected-error@+1 {{box of tensor map of 'k' must have extents in [1, 256], found 0}}
#attr = #launch.tensor_map<"k", [1, 0], box = [0, 1], swizzle = 0>

// -----

// expected-error@+1 {{swizzle of tensor map of 'k' must be 0, 32, 64 or 128 bytes, found 16}}
#attr = #launch.tensor_map<"k", [1, 0], box = [8, 1], swizzle = 16>

// -----

// expected-error@+1 {{a workspace must have 1 to 65536 bytes, found 0}}
#attr = #launch.workspace<0>

// -----

// expected-error@+1 {{a workspace must have 1 to 65536 bytes, found 65537}}
#attr = #launch.workspace<65537>

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: no tensor is named 'v'}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.tensor_map<"v", [1, 0], box = [64, 128], swizzle = 128>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%x: !llvm.ptr) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: tensor map of 'k' must have the tensor's 2 dimensions, found 1}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.tensor_map<"k", [0], box = [64], swizzle = 128>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%x: !llvm.ptr) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: tensor map of 'k' must have elements of 1, 2, 4 or 8 bytes, found 'i4'}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xi4>, ["S", "D"], 16>])
    parameters([#launch.tensor_map<"k", [1, 0], box = [64, 128], swizzle = 128>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%x: !llvm.ptr) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: box of tensor map of 'k' must have rows of a multiple of 16 bytes, found 8}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.tensor_map<"k", [1, 0], box = [4, 128], swizzle = 128>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%x: !llvm.ptr) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: box of tensor map of 'k' must have rows of at most the swizzle's 64 bytes, found 128}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.tensor_map<"k", [1, 0], box = [64, 128], swizzle = 64>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%x: !llvm.ptr) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: tensor map parameter must be '!llvm.ptr', found '!llvm.ptr<1>'}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.tensor_map<"k", [1, 0], box = [64, 128], swizzle = 128>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%x: !llvm.ptr<1>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: tensor map parameter must be '!llvm.ptr', found 'i64'}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.tensor_map<"k", [1, 0], box = [64, 128], swizzle = 128>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%x: i64) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: workspace parameter must be a pointer to global memory, found '!llvm.ptr<3>'}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.workspace<4>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%x: !llvm.ptr<3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0: workspace parameter must be a pointer to global memory, found 'i32'}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.workspace<4>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%x: i32) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{persistent must be in [1, 32], found 0}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) persistent(0)
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{persistent must be in [1, 32], found 33}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) persistent(33)
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{persistent must be in [1, 32], found -1}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) persistent(-1)
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{cluster must be in [1, 16], found 0}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) cluster(0)
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{cluster must be in [1, 16], found 17}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) cluster(17)
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{cluster must be in [1, 16], found -1}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) cluster(-1)
  gpu.func @f() kernel {
    gpu.return
  }
}
