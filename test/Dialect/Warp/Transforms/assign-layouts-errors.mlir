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

// A tile of two roles with different numbers of warps.
!memory = memref<?x64xf32, strided<[?, 1]>>
!t = tensor<128x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"left", warps = 8, registers = 152, owns = ["a"]>,
           <"right", warps = 4, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", write, tensor<?x64xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"x", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory) kernel {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] dims [0, 1] : !memory to !t
    tile.store "a" %t, %x[%c0, %c0] dims [0, 1] : !t, !memory
    %n = arith.negf %t : !t
    // expected-error@+1 {{role 'right' has 4 warps, but this tile is one of role 'left', which has 8: it must cross through a stream}}
    tile.store "b" %n, %x[%c0, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}
