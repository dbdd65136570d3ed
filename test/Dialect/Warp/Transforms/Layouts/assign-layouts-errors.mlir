// Tiles that fit no layout of the schedule.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-assign-layouts)))' --split-input-file --verify-diagnostics

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
    // expected-error@+1 {{rows must be 1 or a multiple of 64 for 4 warps, found 32}}
    %zero = arith.constant dense<0.0> : tensor<32x32xf32, #tile.reg>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    // expected-error@+1 {{columns must be 1 or a multiple of 8, found 4}}
    %iota = tile.iota dim 1 : tensor<1x4xi32, #tile.reg>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{'warps' must be in [1, 32], found 64}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, warps = 64>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(1024) shared_memory(0)
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f() kernel {
    // expected-error@+1 {{rows must be 1 or a multiple of 128 for 8 warps, found 64}}
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #tile.reg>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f() kernel {
    // expected-error@+1 {{rows must be 1 or 128 for 2 warp groups, found 256}}
    %zero = arith.constant dense<0.0> : tensor<256x64xf32, #tile.reg>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{'groups' must be in [1, 8], found 0}}
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 2,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 2, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

// Merged constants have no location.
gpu.module @m {
  // expected-note@+1 {{the plan's 'row_tiles' is 2: each row tile is distributed over all warps}}
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, row_tiles = 2,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  // expected-error@+1 {{rows must be 1 or a multiple of 128 for 8 warps, found 64}}
  gpu.func @f() kernel {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #tile.reg> loc(unknown)
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, column_warps = 2>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %b = warp.alloc : memref<32x32xbf16, #warp.shared<row_bytes = 64>>
    // expected-error@+1 {{cannot read a first operand of 'bf16' from registers in layout #warp.mma_sync<warps = 2, column_warps = 2>: it must pass through a stream ('tile.stream')}}
    %d = warp.dot %a, %b, %zero : tensor<64x32xbf16, #tile.reg>, memref<32x32xbf16, #warp.shared<row_bytes = 64>>, tensor<64x32xf32, #tile.reg>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{wgmma accumulators keep complete rows in a warp group: 'column_warps' must be 1, found 2}}
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, warps = 8, column_warps = 2>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{accumulators in tensor memory are read by whole warp groups: 'column_warps' must be 1 and 'warps' a multiple of 4, found 2 and 8}}
  launch.abi @f target("sm_100a") plan(<#warp.tcgen05_unit, warps = 8, column_warps = 2>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_100a") plan(<#warp.tcgen05_unit, warps = 4>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    // expected-error@+1 {{'#warp.thread_rows' needs 1 row or 128, found 64}}
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #tile.reg>
    gpu.return
  }
}
