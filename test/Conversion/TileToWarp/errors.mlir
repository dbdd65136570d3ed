// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' --split-input-file --verify-diagnostics

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
    %zero = arith.constant dense<0.0> : tensor<64x16xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x16xbf16, #tile.reg>
    %b = arith.constant dense<1.0> : tensor<16x16xbf16, #tile.reg>
    // expected-error@+1 {{second operand of a dot must be loaded from memory}}
    %d = tile.dot %a, %b, %zero : tensor<64x16xbf16, #tile.reg>, tensor<16x16xbf16, #tile.reg>, tensor<64x16xf32, #tile.reg>
    gpu.return
  }
}

// -----

!memory = memref<?x16xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x16xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %a = arith.constant dense<1.0> : tensor<64x16xbf16, #tile.reg>
    // expected-error@+1 {{result of a stream must be used by dots only: other ops must use the operand of 'tile.stream'}}
    %s = tile.stream "s" %a : tensor<64x16xbf16, #tile.reg>
    tile.store %s, %k[%c0, %c0] dims [0, 1] : tensor<64x16xbf16, #tile.reg>, !memory
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, dots = [<"s", a_in_registers>]>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #tile.reg>
    %a = tile.load "k" %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x64xbf16, #tile.reg>
    // expected-error@+1 {{plan has 'a_in_registers', but the first operand is not a load that the unit can read from registers: it is a stream, or transposed}}
    %d = tile.dot "s" %a, %a, %zero transpose_a : tensor<64x64xbf16, #tile.reg>, tensor<64x64xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
    gpu.return
  }
}
