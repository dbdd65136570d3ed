// Elements with a false mask or indices out of bounds are 0; index, row and
// column operands are broadcast.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy i32 "10 + np.arange(6).reshape(2, 3)"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s

// CHECK: shape 4 4
// CHECK-NEXT: 0 0 0 0
// CHECK-NEXT: 0 10 11 12
// CHECK-NEXT: 0 13 14 15
// CHECK-NEXT: 0 0 0 0
gpu.module @m {
  gpu.func @f(%x: memref<2x3xi32>, %o: memref<4x4xi32>) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant dense<1> : tensor<4x1xi32, #tile.reg>
    %onec = arith.constant dense<1> : tensor<1x4xi32, #tile.reg>
    %r = tile.iota dim 0 : tensor<4x1xi32, #tile.reg>
    %c = tile.iota dim 1 : tensor<1x4xi32, #tile.reg>
    %r1 = arith.subi %r, %one : tensor<4x1xi32, #tile.reg>
    %c1 = arith.subi %c, %onec : tensor<1x4xi32, #tile.reg>
    %keep = arith.cmpi ne, %r, %one : tensor<4x1xi32, #tile.reg>
    %all = tile.gather %x[%r1, %c1] : memref<2x3xi32>[tensor<4x1xi32, #tile.reg>, tensor<1x4xi32, #tile.reg>] to tensor<4x4xi32, #tile.reg>
    %rest = tile.gather %x[%c0, %c1] mask(%keep : tensor<4x1xi1, #tile.reg>) : memref<2x3xi32>[index, tensor<1x4xi32, #tile.reg>] to tensor<4x4xi32, #tile.reg>
    %zero = arith.subi %rest, %rest : tensor<4x4xi32, #tile.reg>
    %s = arith.addi %all, %zero : tensor<4x4xi32, #tile.reg>
    tile.store %s, %o[%c0, %c0] dims [0, 1] : tensor<4x4xi32, #tile.reg>, memref<4x4xi32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<2x3xi32>, ["A", "B"], 4>, #launch.tensor<"o", write, tensor<4x4xi32>, ["C", "C"], 4>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
