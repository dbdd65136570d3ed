// Random numbers are halves of Philox's words. Counter and key 0 are a published
// test vector: 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
// RUN: fovea-run %s --inputs 0 0 --outputs %t.npy
// RUN: %python %S/Inputs/npy.py print %t.npy | sed -n "2p;10p" | FileCheck %s --check-prefix=ZERO
// ZERO: 59605 26151 {{[0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+}} 50573 57705
// ZERO-NEXT: 44108 48215 {{[0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+}} 56280 39680

// Elsewhere they are those of a second implementation.
// RUN: fovea-run %s --inputs -81985529216486896 9223372032559808513 --outputs %t.npy
// RUN: %python %S/Inputs/philox.py %t.npy -81985529216486896 9223372032559808513 16 48
gpu.module @m {
  gpu.func @f(%key: i64, %stream: i64, %o: memref<32x32xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c48 = arith.constant 48 : index
    %zero = arith.constant 0 : i64
    %isZero = arith.cmpi eq, %key, %zero : i64
    %i = arith.select %isZero, %c0, %c16 : index
    %j = arith.select %isZero, %c0, %c48 : index
    %r = tile.random key(%key) stream(%stream) [%i, %j] : tensor<32x32xi32, #tile.reg>
    tile.store %r, %o[%c0, %c0] dims [0, 1] : tensor<32x32xi32, #tile.reg>, memref<32x32xi32>
    gpu.return
  }
  tile.abi @f target("sm_80")
    schedule(<tile_m = 32, tile_n = 32, warps = 1, stages = 1, query_in_registers = 0, min_blocks = 1>)
    tensors([#tile.tensor<"o", write, tensor<32x32xi32>, ["A", "B"], 4>])
    parameters([#tile.scalar<"key", i64>, #tile.scalar<"stream", i64>, #tile.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
