// Elements out of bounds are 0 and not read, or dropped; indices may be
// negative; `limit` ends the rows early; -1 stands for no dimension.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy f32 "1 + np.arange(12).reshape(3, 4)"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy %t.row.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy %t.row.npy | FileCheck %s

// CHECK: shape 6 4
// Rows -1 to 1 and columns 2 to 5, stored from row -1 on: the first row is
// dropped.
// CHECK-NEXT: 3 4 0 0
// CHECK-NEXT: 7 8 0 0
// Rows from 1 on, but only those below the limit 2; a store of zeros whose
// limit is its start.
// CHECK-NEXT: 5 6 7 8
// CHECK-NEXT: 0 0 0 0
// CHECK-NEXT: 0 0 0 0
// Never written.
// CHECK-NEXT: nan nan nan nan
// CHECK: shape 4
// Column 1 of all rows, as a row tile.
// CHECK-NEXT: 2 6 10 0
gpu.module @m {
  gpu.func @f(%x: memref<3x4xf32>, %o: memref<6x4xf32>, %row: memref<4xf32>) kernel {
    %m1 = arith.constant -1 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %far = arith.constant 0x7fffffffffffffff : index
    %a = tile.load %x[%m1, %c2] dims [0, 1] : memref<3x4xf32> to tensor<3x4xf32, #tile.reg>
    tile.store %a, %o[%m1, %c0] dims [0, 1] : tensor<3x4xf32, #tile.reg>, memref<6x4xf32>
    %b = tile.load %x[%c1, %c0] limit(%c2) dims [0, 1] : memref<3x4xf32> to tensor<3x4xf32, #tile.reg>
    tile.store %b, %o[%c2, %c0] dims [0, 1] : tensor<3x4xf32, #tile.reg>, memref<6x4xf32>
    %c = tile.load %x[%c0, %c1] dims [0, -1] : memref<3x4xf32> to tensor<4x1xf32, #tile.reg>
    tile.store %c, %row[%c0] dims [0, -1] : tensor<4x1xf32, #tile.reg>, memref<4xf32>
    %d = tile.load %x[%far, %far] dims [0, 1] : memref<3x4xf32> to tensor<3x4xf32, #tile.reg>
    tile.store %d, %o[%c2, %c0] limit(%c2) dims [0, 1] : tensor<3x4xf32, #tile.reg>, memref<6x4xf32>
    tile.store %d, %o[%far, %c0] dims [0, 1] : tensor<3x4xf32, #tile.reg>, memref<6x4xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<3x4xf32>, ["A", "B"], 4>, #launch.tensor<"o", write, tensor<6x4xf32>, ["C", "B"], 4>,
             #launch.tensor<"row", write, tensor<4xf32>, ["B"], 4>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.memref<"row", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
