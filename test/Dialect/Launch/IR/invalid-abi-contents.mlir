// RUN: fovea-opt %s --split-input-file --verify-diagnostics

gpu.module @m {
  // expected-error@+1 {{expected #launch.contents attributes, found #launch.at_most<"S", 64>}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    contents([#launch.at_most<"S", 64>])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{no tensor is named 'm'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    contents([#launch.contents<"m", of "S">])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{no dimension is named 'T'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    contents([#launch.contents<"n", of "T">])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{#launch.contents needs an i32 tensor with dimensions, found 'x' of 'tensor<?x?xf32>'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    contents([#launch.contents<"x", of "S">])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{no tensor is named 'k'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    contents([#launch.contents<"index", of "S" block = 128 entries = "k">])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{'entries' of #launch.contents must have rank 1, found 'index' of 'tensor<?x?xi32>'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    contents([#launch.contents<"index", of "S" block = 128 entries = "index">])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    // expected-error@+1 {{block size of 'index' must be positive, found -1}}
    contents([#launch.contents<"index", of "S" block = -1 entries = "n">])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    // expected-error@+1 {{'index' must be one of ascending, block lists and page tables, found 2}}
    contents([#launch.contents<"index", of "S" ascending = true block = 8 entries = "n">])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    // expected-error@+1 {{page size of 'index' must be positive, found -1}}
    contents([#launch.contents<"index", of "S" page = -1 entries = "n">])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    // expected-error@+1 {{factor of the size of 'index' must be positive, found 0}}
    contents([#launch.contents<"index", of "S" times = 0>])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    // expected-error@+1 {{'index' must be one of ascending, block lists and page tables, found 2}}
    contents([#launch.contents<"index", of "S" block = 8 page = 8 entries = "n">])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    // expected-error@+1 {{'entries' of 'index' must be given for block lists and page tables only}}
    contents([#launch.contents<"index", of "S" page = 8>])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    // expected-error@+1 {{'entries' of 'index' must be given for block lists and page tables only}}
    contents([#launch.contents<"index", of "S" entries = "n">])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    // expected-error@+1 {{'offsets' of 'index' must be given for page tables only}}
    contents([#launch.contents<"index", of "S" block = 8 entries = "n" offsets = "n">])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{'offsets' of #launch.contents must have rank 1, found 'index' of 'tensor<?x?xi32>'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    contents([#launch.contents<"n", of "S" page = 8 entries = "n" offsets = "index">])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{'tensor' of #launch.contents must have rank 1, found 'index' of 'tensor<?x?xi32>'}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"x", read, tensor<?x?xf32>, ["B", "S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    contents([#launch.contents<"index", of "S" page = 8 entries = "n" offsets = "n">])
  gpu.func @f() kernel {
    gpu.return
  }
}
