// Random numbers are halves of Philox's words. Counter and key 0 are a published
// test vector of seven rounds: 5f6fb709 0d893f64 4f121f81 4f730a48.
// RUN: fovea-run %s --inputs 0 0 --outputs %t.npy
// RUN: %python %S/../Inputs/npy.py print %t.npy | sed -n "2p" | FileCheck %s --check-prefix=ZERO
// ZERO: 46857 24431 16228 3465 8065 20242 2632 20339

// Other numbers are compared with a second implementation.
// RUN: fovea-run %s --inputs -81985529216486896 9223372032559808513 --outputs %t.npy
// RUN: %python %S/../Inputs/philox.py %t.npy -81985529216486896 9223372032559808513 19 48 1

// If keys are rows, rows and columns are exchanged.
// RUN: sed -e 's/%%i, %%j/%%j, %%i/' -e 's/dim 1/dim 0/' %s > %t.transposed.mlir
// RUN: fovea-run %t.transposed.mlir --inputs -81985529216486896 9223372032559808513 --outputs %t.npy
// RUN: %python %S/../Inputs/philox.py %t.npy -81985529216486896 9223372032559808513 48 19 0

// RUN: sed 's/constant 48/constant 44/' %s > %t.between.mlir
// RUN: not fovea-run %t.between.mlir --inputs 1 1 2>&1 | FileCheck %s --check-prefix=BETWEEN
// BETWEEN: error: the position along dimension 1 must be a multiple of 8, found 44
// RUN: sed 's/constant 19/constant -1/' %s > %t.before.mlir
// RUN: not fovea-run %t.before.mlir --inputs 1 1 2>&1 | FileCheck %s --check-prefix=BEFORE
// BEFORE: error: positions must not be negative, found -1
// RUN: not fovea-run %s --inputs one 1 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: error: 'key' must be a number of type i64, found 'one'
gpu.module @m {
  gpu.func @f(%key: i64, %stream: i64, %o: memref<32x32xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c19 = arith.constant 19 : index
    %c48 = arith.constant 48 : index
    %zero = arith.constant 0 : i64
    %isZero = arith.cmpi eq, %key, %zero : i64
    %i = arith.select %isZero, %c0, %c19 : index
    %j = arith.select %isZero, %c0, %c48 : index
    %r = tile.random key(%key) stream(%stream) [%i, %j] dim 1 : tensor<32x32xi32, #tile.reg>
    tile.store %r, %o[%c0, %c0] dims [0, 1] : tensor<32x32xi32, #tile.reg>, memref<32x32xi32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 32, warps = 1, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<32x32xi32>, ["A", "B"], 4>])
    parameters([#launch.scalar<"key", i64>, #launch.scalar<"stream", i64>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0) generator(1)
}
