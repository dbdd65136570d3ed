// Rows of two coordinates: the quotient by the extent and the remainder. Rows
// out of bounds along either are 0, or dropped; the limit applies to the first
// one.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy f32 "1 + np.arange(18).reshape(2, 3, 3)"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy %t.row.npy %t.some.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy %t.row.npy %t.some.npy | FileCheck %s

// CHECK: shape 8 2
// Rows 1 and 2 of both heads.
// CHECK-NEXT: 5 6
// CHECK-NEXT: 8 9
// CHECK-NEXT: 14 15
// CHECK-NEXT: 17 18
// Heads -1 to 0, rows 1 to 2; only the first one is below the limit.
// CHECK-NEXT: 0 0
// CHECK-NEXT: 0 0
// CHECK-NEXT: 5 6
// CHECK-NEXT: 8 9
// CHECK: shape 2 3
// Column 2, stored from row -1 on of each head: rows before the memref are
// dropped, and so is the second head.
// CHECK-NEXT: 6 9 0
// CHECK-NEXT: nan nan nan
// Three of four rows of a fold: the fourth one is neither loaded nor stored.
// CHECK: shape 2 4
// CHECK-NEXT: 1 4 7 nan
// CHECK-NEXT: 10 13 16 nan
gpu.module @m {
  gpu.func @f(%x: memref<2x3x3xf32>, %o: memref<8x2xf32>, %row: memref<2x3xf32>, %some: memref<2x4xf32>) kernel {
    %m1 = arith.constant -1 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %a = tile.load %x[%c0, %c1, %c1] dims [0, 2] fold [1, 2] : memref<2x3x3xf32> to tensor<4x2xf32, #tile.reg>
    tile.store %a, %o[%c0, %c0] dims [0, 1] : tensor<4x2xf32, #tile.reg>, memref<8x2xf32>
    %b = tile.load %x[%m1, %c1, %c1] limit(%c1) dims [0, 2] fold [1, 2] : memref<2x3x3xf32> to tensor<4x2xf32, #tile.reg>
    tile.store %b, %o[%c4, %c0] dims [0, 1] : tensor<4x2xf32, #tile.reg>, memref<8x2xf32>
    %c = tile.load %x[%c0, %c0, %c2] dims [0, -1] fold [1, 4] : memref<2x3x3xf32> to tensor<8x1xf32, #tile.reg>
    tile.store %c, %row[%c0, %m1] limit(%c1) dims [0, -1] fold [1, 4] : tensor<8x1xf32, #tile.reg>, memref<2x3xf32>
    %d = tile.load %x[%c0, %c0, %c0] dims [0, -1] fold [1, 4, 3] : memref<2x3x3xf32> to tensor<8x1xf32, #tile.reg>
    tile.store %d, %some[%c0, %c0] dims [0, -1] fold [1, 4, 3] : tensor<8x1xf32, #tile.reg>, memref<2x4xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<2x3x3xf32>, ["A", "B", "B"], 4>, #launch.tensor<"o", write, tensor<8x2xf32>, ["C", "D"], 4>,
             #launch.tensor<"row", write, tensor<2x3xf32>, ["A", "B"], 4>, #launch.tensor<"some", write, tensor<2x4xf32>, ["A", "E"], 4>])
    parameters([#launch.memref<"x", [0, 1, 2]>, #launch.memref<"o", [0, 1]>, #launch.memref<"row", [0, 1]>, #launch.memref<"some", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
