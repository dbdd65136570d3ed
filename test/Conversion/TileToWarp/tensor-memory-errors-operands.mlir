// Dots into tensor memory can't use slices; the second operand must be a load or stream.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))'

!memory = memref<?x32xbf16, strided<[?, 1]>>
!operand = tensor<128x32xbf16, #tile.reg>
!block = tensor<64x32xbf16, #tile.reg>
!score = tensor<128x64xf32, #tile.reg>
!weight = tensor<128x64xbf16, #tile.reg>
!sum = tensor<128x32xf32, #tile.reg>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       streams = [<"q">],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%K: !memory, %O: !wide, %n: index) kernel {
    %zero = arith.constant dense<0.0> : !score
    %none = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !operand
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !block
    %s = tile.dot "s" %q, %k, %zero transpose_b : !operand, !block, !score
    %x = arith.truncf %s : !score to !weight
    %x1 = tile.stream "p" %x : !weight
    // expected-error @+1 {{dots into tensor memory can't use slices of operands}}
    %o = tile.dot "o" %x1, %k, %none columns(0) : !weight, !block, !sum
    tile.store %o, %O[%c0, %c0] dims [0, 1] : !sum, !wide
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!operand = tensor<128x32xbf16, #tile.reg>
!block = tensor<64x32xbf16, #tile.reg>
!score = tensor<128x64xf32, #tile.reg>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       streams = [<"q">, <"p", staged, over = "s">],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%K: !memory, %O: !wide, %n: index) kernel {
    %zero = arith.constant dense<0.0> : !score
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !operand
    %k = arith.constant dense<1.0> : !block
    // expected-error @+1 {{second operand of a dot must be loaded from memory or a stream ('tile.stream')}}
    %s = tile.dot "s" %q, %k, %zero transpose_b : !operand, !block, !score
    gpu.return
  }
}
