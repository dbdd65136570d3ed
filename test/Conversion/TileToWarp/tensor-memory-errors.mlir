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
    // expected-error @+1 {{first operand of a dot must be loaded from memory or a stream ('tile.stream') where dots accumulate in tensor memory}}
    %o = tile.dot "o" %x, %k, %none : !weight, !block, !sum
    tile.store %o, %O[%c0, %c0] dims [0, 1] : !sum, !wide
    gpu.return
  }
}

// -----

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
    // expected-error @+1 {{dots into tensor memory take their operands whole}}
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
!weight = tensor<128x64xbf16, #tile.reg>
!sum = tensor<128x32xf32, #tile.reg>
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
    %none = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !operand
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !block
    %s = tile.dot "t" %q, %k, %zero transpose_b : !operand, !block, !score
    %x = arith.truncf %s : !score to !weight
    // expected-error @+1 {{is to lie in the accumulator of the dot "s", of which there is none before it}}
    %p = tile.stream "p" %x : !weight
    %o = tile.dot "o" %p, %k, %none : !weight, !block, !sum
    tile.store %o, %O[%c0, %c0] dims [0, 1] : !sum, !wide
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!operand = tensor<128x32xbf16, #tile.reg>
!block = tensor<64x32xbf16, #tile.reg>
!score = tensor<128x64xf32, #tile.reg>
!weight = tensor<128x64xbf16, #tile.reg>
!sum = tensor<128x32xf32, #tile.reg>
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
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !block
    // What a dot starts from would have to be stored by somebody.
    %start = tile.load %O[%c0, %c0] dims [0, 1] : !wide to !sum
    %s = tile.dot "s" %q, %k, %zero transpose_b : !operand, !block, !score
    %x = arith.truncf %s : !score to !weight
    %p = tile.stream "p" %x : !weight
    // expected-error @+1 {{accumulator in tensor memory must be zero, or what the dot itself gave in the round before, from zero on}}
    %o = tile.dot "o" %p, %k, %start : !weight, !block, !sum
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
    %all = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> !score {
      // expected-note @+1 {{the dot}}
      %s = tile.dot "s" %q, %k, %acc transpose_b : !operand, !block, !score
      // expected-error @+1 {{a dot's accumulator that a loop carries may only be changed for the dot's next round}}
      %m = tile.reduce max dim 1 %acc : !score to tensor<128x1xf32, #tile.reg>
      tile.store %m, %O[%c0, %c0] dims [0, -1] : tensor<128x1xf32, #tile.reg>, !wide
      scf.yield %s : !score
    }
    gpu.return
  }
}

// -----

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
    %none32 = arith.constant dense<0.0> : tensor<32x32xf32, #tile.reg>
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !operand
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !block
    // expected-error @+1 {{transposed first operands are not supported where dots accumulate in tensor memory}}
    %s = tile.dot "s" %k, %k, %none32 transpose_a : !block, !block, tensor<32x32xf32, #tile.reg>
    gpu.return
  }
}

// -----

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
    // expected-error @+1 {{dots into tensor memory have 128 rows, found 'tensor<64x64xf32, #tile.reg>'}}
    %s = tile.dot "s" %k, %k, %small transpose_b : !block, !block, tensor<64x64xf32, #tile.reg>
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
       streams = [<"q">],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%K: !memory, %O: !wide, %n: index) kernel {
    %zero = arith.constant dense<0.0> : !score
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !operand
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !block
    %wide = arith.constant dense<0.0> : tensor<128x512xf32, #tile.reg>
    %l = tile.load "l" %K[%c0, %c0] dims [0, 1] : !memory to tensor<512x32xbf16, #tile.reg>
    %s = tile.dot "s" %q, %l, %wide transpose_b : !operand, tensor<512x32xbf16, #tile.reg>, tensor<128x512xf32, #tile.reg>
    // expected-error @+1 {{accumulators need 576 columns of tensor memory, a CTA has 512}}
    %t = tile.dot "t" %q, %k, %zero transpose_b : !operand, !block, !score
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
       streams = [<"q">],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%K: !memory, %O: !wide, %n: index) kernel {
    %zero = arith.constant dense<0.0> : !score
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !operand
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !block
    %v = tile.load "v" %K[%c0, %c0] limit(%n) dims [0, 1] : !memory to !block
    // expected-error @-1 {{rows past the end of a sequence can't be made zero for a matrix unit that one thread issues dots to}}
    %s = tile.dot "s" %q, %v, %zero transpose_b : !operand, !block, !score
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
    // What else the vote is about would have to be carried in registers.
    %all:2 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %other = %zero) -> (!score, !score) {
      %x = tile.load %O[%j, %c0] dims [0, 1] : !wide to tensor<128x1xf32, #tile.reg>
      %asks = arith.cmpf une, %x, %x : tensor<128x1xf32, #tile.reg>
      // expected-error @+1 {{a dot's accumulator that a loop carries may only be changed for the dot's next round}}
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

// -----

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
    // Rows that nobody asks for would have to be changed, too.
    %all = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> !score {
      %x = tile.load %O[%j, %c0] dims [0, 1] : !wide to tensor<128x1xf32, #tile.reg>
      %asks = arith.cmpf une, %x, %x : tensor<128x1xf32, #tile.reg>
      %half = arith.addf %acc, %acc : !score
      // expected-error @+1 {{a dot's accumulator that a loop carries may only be changed for the dot's next round}}
      %some = tile.if_any %asks init(%half : !score) : tensor<128x1xi1, #tile.reg> {
      ^bb0(%a: !score):
        %a1 = arith.negf %a : !score
        tile.yield %a1 : !score
      }
      // expected-note @+1 {{the dot}}
      %s = tile.dot "s" %q, %k, %some transpose_b : !operand, !block, !score
      scf.yield %s : !score
    }
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!operand = tensor<128x32xbf16, #tile.reg>
!block = tensor<64x32xbf16, #tile.reg>
!score = tensor<128x64xf32, #tile.reg>
!sum = tensor<128x32xf32, #tile.reg>
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
    %none = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !operand
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !block
    %s = tile.dot "s" %q, %k, %zero transpose_b : !operand, !block, !score
    %x = arith.constant dense<1.0> : tensor<128x256xbf16, #tile.reg>
    %v = tile.load "v" %K[%c0, %c0] dims [0, 1] : !memory to tensor<256x32xbf16, #tile.reg>
    // expected-error @+1 {{does not fit the accumulator of the dot "s": 'tensor<128x256xbf16, #tile.reg>' in 64 columns of 128 rows}}
    %p = tile.stream "p" %x : tensor<128x256xbf16, #tile.reg>
    %o = tile.dot "o" %p, %v, %none : tensor<128x256xbf16, #tile.reg>, tensor<256x32xbf16, #tile.reg>, !sum
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
    %c1 = arith.constant 1 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !operand
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !block
    // The loop carries a sum that its dot does not add to.
    %one = arith.constant dense<1.0> : !score
    %all = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> !score {
      // expected-error @+1 {{starts from something else than its loop carries}}
      %s = tile.dot "s" %q, %k, %one transpose_b : !operand, !block, !score
      scf.yield %s : !score
    }
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
