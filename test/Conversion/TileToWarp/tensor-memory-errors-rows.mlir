// Dots into tensor memory must have 128 rows.
// RUN: fovea-opt %s --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))'

!memory = memref<?x32xbf16, strided<[?, 1]>>
!operand = tensor<128x32xbf16, #tile.reg>
!block = tensor<64x32xbf16, #tile.reg>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       streams = [<"q">],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%K: !memory, %O: !wide, %n: index) kernel {
    %small = arith.constant dense<0.0> : tensor<64x64xf32, #tile.reg>
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !operand
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !block
    // expected-error @+1 {{dots into tensor memory must have 128 rows, found 'tensor<64x64xf32, #tile.reg>'}}
    %s = tile.dot "s" %k, %k, %small transpose_b : !block, !block, tensor<64x64xf32, #tile.reg>
    gpu.return
  }
}
