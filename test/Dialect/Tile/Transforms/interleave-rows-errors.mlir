// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-interleave-query-tiles{parts=2})))'

!tile = tensor<32x32xbf16, #tile.reg>
!sum = tensor<32x32xf32, #tile.reg>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @kernels {
  // The rows of the second product are the columns of the first one.
  gpu.func @two(%K: !memory, %O: !wide) kernel {
    %zero = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    // expected-note @+1 {{the other dot}}
    %s = tile.dot "s" %q, %k, %zero transpose_b : !tile, !tile, !sum
    // expected-error @+1 {{rows can't be split: this dot and another one have different rows}}
    %t = tile.dot "t" %k, %q, %zero transpose_b : !tile, !tile, !sum
    tile.store %s, %O[%c0, %c0] dims [0, 1] : !sum, !wide
    tile.store %t, %O[%c0, %c0] dims [0, 1] : !sum, !wide
    gpu.return
  }
}

// -----

!tile = tensor<32x32xbf16, #tile.reg>
!sum = tensor<32x32xf32, #tile.reg>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @kernels {
  gpu.func @contracted(%K: !memory, %O: !wide) kernel {
    %zero = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    // expected-error @+1 {{rows can't be split: this dot sums over them}}
    %s = tile.dot "s" %q, %q, %zero transpose_b : !tile, !tile, !sum
    tile.store %s, %O[%c0, %c0] dims [0, 1] : !sum, !wide
    gpu.return
  }
}

// -----

!tile = tensor<32x32xbf16, #tile.reg>
!sum = tensor<32x32xf32, #tile.reg>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @kernels {
  gpu.func @reduced(%K: !memory, %O: !wide) kernel {
    %zero = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %s = tile.dot "s" %q, %k, %zero transpose_b : !tile, !tile, !sum
    // expected-error @+1 {{rows can't be split: this reduction combines them}}
    %m = tile.reduce max dim 0 %s : !sum to tensor<1x32xf32, #tile.reg>
    tile.store %m, %O[%c0, %c0] dims [-1, 1] : tensor<1x32xf32, #tile.reg>, !wide
    gpu.return
  }
}

// -----

!tile = tensor<33x32xbf16, #tile.reg>
!key = tensor<32x32xbf16, #tile.reg>
!sum = tensor<33x32xf32, #tile.reg>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @kernels {
  gpu.func @odd(%K: !memory, %O: !wide) kernel {
    %zero = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !key
    // expected-error @+1 {{rows can't be split: 33 rows are not a multiple of 2 parts}}
    %s = tile.dot "s" %q, %k, %zero transpose_b : !tile, !key, !sum
    tile.store %s, %O[%c0, %c0] dims [0, 1] : !sum, !wide
    gpu.return
  }
}

// -----

!tile = tensor<32x32xbf16, #tile.reg>
!sum = tensor<32x32xf32, #tile.reg>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @kernels {
  gpu.func @bounds(%K: !memory, %O: !wide) kernel {
    %zero = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %first, %rows = tile.held_rows !sum
    // expected-error @+1 {{rows can't be split: the trip count of this loop depends on them}}
    %all = scf.for %j = %c0 to %first step %c32 iter_args(%acc = %zero) -> !sum {
      %k = tile.load "k" %K[%j, %c0] dims [0, 1] : !memory to !tile
      %s = tile.dot "s" %q, %k, %acc transpose_b : !tile, !tile, !sum
      scf.yield %s : !sum
    }
    tile.store %all, %O[%c0, %c0] dims [0, 1] : !sum, !wide
    gpu.return
  }
}

// -----

!tile = tensor<32x32xbf16, #tile.reg>
!sum = tensor<32x32xf32, #tile.reg>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @kernels {
  gpu.func @once(%K: !memory, %O: !wide, %yes: i1, %x: tensor<1x32xf32, #tile.reg>) {
    %zero = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %s = tile.dot "s" %q, %k, %zero transpose_b : !tile, !tile, !sum
    scf.if %yes {
      tile.store %s, %O[%c0, %c0] dims [0, 1] : !sum, !wide
      // expected-error @+1 {{rows can't be split: this op has side effects but would be cloned for each part}}
      tile.store add %x, %O[%c0, %c0] dims [-1, 1] : tensor<1x32xf32, #tile.reg>, !wide
    }
    gpu.return
  }
}

// -----

!tile = tensor<32x32xbf16, #tile.reg>
!sum = tensor<32x32xf32, #tile.reg>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!folded = memref<?x32x32xf32, strided<[?, ?, 1]>>
gpu.module @kernels {
  gpu.func @fold(%K: !memory, %O: !folded) kernel {
    %zero = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %s = tile.dot "s" %q, %k, %zero transpose_b : !tile, !tile, !sum
    // expected-error @+1 {{rows can't be split: 16 rows of a part are not a multiple of the fold's 32}}
    tile.store %s, %O[%c0, %c0, %c0] dims [0, 2] fold [1, 32] : !sum, !folded
    gpu.return
  }
}

// -----

!tile = tensor<32x32xbf16, #tile.reg>
!sum = tensor<32x32xf32, #tile.reg>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @kernels {
  gpu.func @columns(%K: !memory, %O: !wide) kernel {
    %zero = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{rows can't be split: this tile has them as columns}}
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %s = tile.dot "s" %q, %k, %zero transpose_a : !tile, !tile, !sum
    tile.store %s, %O[%c0, %c0] dims [0, 1] : !sum, !wide
    gpu.return
  }
}

// -----

!tile = tensor<32x32xbf16, #tile.reg>
!sum = tensor<32x32xf32, #tile.reg>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @kernels {
  gpu.func @diagonals(%K: !memory, %O: !wide) kernel {
    %zero = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %d = arith.constant dense<1.0> : tensor<1x64xf32, #tile.reg>
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    // expected-error @+1 {{rows can't be split: relative positions of this tile span several parts}}
    %bias = tile.diagonals %d : tensor<1x64xf32, #tile.reg> to !sum
    %s = tile.dot "s" %q, %k, %bias transpose_b : !tile, !tile, !sum
    tile.store %s, %O[%c0, %c0] dims [0, 1] : !sum, !wide
    gpu.return
  }
}

// -----

!tile = tensor<32x32xbf16, #tile.reg>
!sum = tensor<32x32xf32, #tile.reg>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @kernels {
  gpu.func @while_loop(%K: !memory, %O: !wide) kernel {
    %zero = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %s = tile.dot "s" %q, %k, %zero transpose_b : !tile, !tile, !sum
    %first, %rows = tile.held_rows !sum
    // expected-error @+1 {{rows can't be split: this loop carries values that depend on them}}
    %end = scf.while (%i = %first) : (index) -> index {
      %more = arith.cmpi slt, %c0, %c32 : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      scf.yield %i : index
    }
    tile.store %s, %O[%c0, %c0] dims [0, 1] : !sum, !wide
    gpu.return
  }
}

// -----

// The rows of a square tile are columns of the transposed one.
!tile = tensor<32x32xbf16, #tile.reg>
!sum = tensor<32x32xf32, #tile.reg>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!wide = memref<?x32xf32, strided<[?, 1]>>
gpu.module @kernels {
  gpu.func @transposed(%K: !memory, %O: !wide) kernel {
    %zero = arith.constant dense<0.0> : !sum
    %c0 = arith.constant 0 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %k = tile.load "k" %K[%c0, %c0] dims [0, 1] : !memory to !tile
    %s = tile.dot "s" %q, %k, %zero transpose_b : !tile, !tile, !sum
    // expected-error @+1 {{rows can't be split: this tile has them as columns}}
    %t = tile.transpose %s : !sum to !sum
    tile.store %t, %O[%c0, %c0] dims [0, 1] : !sum, !wide
    gpu.return
  }
}
