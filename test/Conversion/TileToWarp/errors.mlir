// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' --split-input-file --verify-diagnostics

gpu.module @m {
  // expected-error@+1 {{kernel has no 'tile.abi' beside it}}
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  tile.abi @f target("sm_80") schedule(<tile_m = 64, tile_n = 32, warps = 4, stages = 2, query_in_registers = 0, min_blocks = 1>)
    tensors([#tile.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#tile.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %zero = arith.constant dense<0.0> : tensor<64x16xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x16xbf16, #tile.reg>
    %b = arith.constant dense<1.0> : tensor<16x16xbf16, #tile.reg>
    // expected-error@+1 {{second operand of a dot must be loaded from memory}}
    %d = tile.dot %a, %b, %zero : tensor<64x16xbf16, #tile.reg>, tensor<16x16xbf16, #tile.reg>, tensor<64x16xf32, #tile.reg>
    gpu.return
  }
}
