// First operands that the unit can't read from registers.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' --split-input-file --verify-diagnostics

!memory = memref<?x16xf4E2M1FN, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x16xf4E2M1FN>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x16xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x16xf4E2M1FN, #tile.reg>
    %b = tile.load "k" %k[%c0, %c0] dims [0, 1] : !memory to tensor<16x16xf4E2M1FN, #tile.reg>
    // expected-error@+1 {{first operand of a dot is computed, but #warp.mma_sync_unit can't read computed operands of 4 bits from registers}}
    %d = tile.dot %a, %b, %zero : tensor<64x16xf4E2M1FN, #tile.reg>, tensor<16x16xf4E2M1FN, #tile.reg>, tensor<64x16xf32, #tile.reg>
    gpu.return
  }
}

// -----

// Warps that share columns do not own whole rows.
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, column_warps = 2>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %b = tile.load "k" %k[%c0, %c0] dims [0, 1] : !memory to tensor<32x32xbf16, #tile.reg>
    // expected-error@+1 {{can't read computed operands of 16 bits from registers if warps share columns ('column_warps'): it must be loaded from memory or a stream ('tile.stream')}}
    %d = tile.dot %a, %b, %zero : tensor<64x32xbf16, #tile.reg>, tensor<32x32xbf16, #tile.reg>, tensor<64x32xf32, #tile.reg>
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, column_warps = 2, dots = [<"s", a_in_registers>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %a = tile.load "q" %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x32xbf16, #tile.reg>
    %b = tile.load "k" %k[%c0, %c0] dims [0, 1] : !memory to tensor<32x32xbf16, #tile.reg>
    // expected-error@+1 {{plan has 'a_in_registers', but the first operand is not a load that the unit can read from registers: it is a stream, or transposed, or warps share columns}}
    %d = tile.dot "s" %a, %b, %zero : tensor<64x32xbf16, #tile.reg>, tensor<32x32xbf16, #tile.reg>, tensor<64x32xf32, #tile.reg>
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
    %zero = arith.constant dense<0.0> : tensor<64x16xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<16x64xbf16, #tile.reg>
    %b = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<16x16xbf16, #tile.reg>
    // expected-error@+1 {{transposed first operand of a dot must be loaded from memory or a stream ('tile.stream')}}
    %d = tile.dot %a, %b, %zero transpose_a : tensor<16x64xbf16, #tile.reg>, tensor<16x16xbf16, #tile.reg>, tensor<64x16xf32, #tile.reg>
    gpu.return
  }
}
