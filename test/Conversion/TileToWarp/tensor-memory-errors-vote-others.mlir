// A conditional update must change the accumulator only.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))'

!memory = memref<?x32xbf16, strided<[?, 1]>>
!operand = tensor<128x32xbf16, #tile.reg>
!block = tensor<64x32xbf16, #tile.reg>
!score = tensor<128x64xf32, #tile.reg>
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
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !operand
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !block
    // Other results of the update would have to be carried in registers.
    %all:2 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %other = %zero) -> (!score, !score) {
      %x = tile.load %O[%j, %c0] dims [0, 1] : !wide to tensor<128x1xf32, #tile.reg>
      %asks = arith.cmpf une, %x, %x : tensor<128x1xf32, #tile.reg>
      // expected-error @+1 {{the loop-carried accumulator of a dot may only be updated for the dot's next iteration}}
      %both:2 = tile.if_any %asks init(%acc, %other : !score, !score) : tensor<128x1xi1, #tile.reg> {
      ^bb0(%a: !score, %b: !score):
        %a1 = arith.negf %a : !score
        %b1 = arith.negf %b : !score
        tile.yield %a1, %b1 : !score, !score
      }
      // expected-note @+1 {{the dot}}
      %s = tile.dot "s" %q, %k, %both#0 transpose_b : !operand, !block, !score
      scf.yield %s, %both#1 : !score, !score
    }
    gpu.return
  }
}
