// Groups of two rows, in pages 2, 0 and 5, of which the last does not exist. The limit counts rows of
// all groups. The table has the pages 1, 2, 0 and 5: rows from row 1 of its second page on, and,
// with a limit of 6, from row 3 of the sequence that begins with page 1 on. Positions past the table
// have its last page.
// RUN: %python %S/../Inputs/npy.py write %t.table.npy i32 "[[7, 7, 7, 7], [1, 2, 0, 5]]"
// RUN: %python %S/../Inputs/npy.py write %t.x.npy f32 "1 + np.arange(12).reshape(3, 2, 2)"
// RUN: fovea-run %s --inputs %t.x.npy %t.table.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s

// CHECK: shape 24 2
// CHECK-NEXT: 9 10
// CHECK-NEXT: 11 12
// CHECK-NEXT: 1 2
// CHECK-NEXT: 3 4
// CHECK-NEXT: 0 0
// CHECK-NEXT: 0 0
// Limit 3.
// CHECK-NEXT: 9 10
// CHECK-NEXT: 11 12
// CHECK-NEXT: 1 2
// CHECK-NEXT: 0 0
// CHECK-NEXT: 0 0
// CHECK-NEXT: 0 0
// The table from its second entry on.
// CHECK-NEXT: 11 12
// CHECK-NEXT: 1 2
// CHECK-NEXT: 3 4
// CHECK-NEXT: 0 0
// CHECK-NEXT: 0 0
// CHECK-NEXT: 0 0
// Limit 6.
// CHECK-NEXT: 11 12
// CHECK-NEXT: 1 2
// CHECK-NEXT: 3 4
// CHECK-NEXT: 0 0
// CHECK-NEXT: 0 0
// CHECK-NEXT: 0 0
gpu.module @m {
  gpu.func @f(%x: memref<3x2x2xf32>, %table: memref<2x4xi32>, %o: memref<24x2xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %a = tile.load %x[%c2, %c0, %c0, %c0, %c5] dims [1, 2] groups [0, 2] : memref<3x2x2xf32> to tensor<6x2xf32, #tile.reg>
    tile.store %a, %o[%c0, %c0] dims [0, 1] : tensor<6x2xf32, #tile.reg>, memref<24x2xf32>
    %b = tile.load %x[%c2, %c0, %c0, %c0, %c5] limit(%c3) dims [1, 2] groups [0, 2] : memref<3x2x2xf32> to tensor<6x2xf32, #tile.reg>
    tile.store %b, %o[%c6, %c0] dims [0, 1] : tensor<6x2xf32, #tile.reg>, memref<24x2xf32>
    %c1 = arith.constant 1 : index
    %c12 = arith.constant 12 : index
    %c18 = arith.constant 18 : index
    %c = tile.load %x[%c0, %c1, %c0] dims [1, 2] groups [0, 2] at %table[%c1, %c1] : memref<3x2x2xf32> at memref<2x4xi32> to tensor<6x2xf32, #tile.reg>
    tile.store %c, %o[%c12, %c0] dims [0, 1] : tensor<6x2xf32, #tile.reg>, memref<24x2xf32>
    %d = tile.load %x[%c0, %c3, %c0] limit(%c6) dims [1, 2] groups [0, 2] at %table[%c1, %c0] : memref<3x2x2xf32> at memref<2x4xi32> to tensor<6x2xf32, #tile.reg>
    tile.store %d, %o[%c18, %c0] dims [0, 1] : tensor<6x2xf32, #tile.reg>, memref<24x2xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<3x2x2xf32>, ["A", "B", "B"], 4>, #launch.tensor<"table", read, tensor<2x4xi32>, ["E", "F"], 4>,
             #launch.tensor<"o", write, tensor<24x2xf32>, ["C", "D"], 4>])
    parameters([#launch.memref<"x", [0, 1, 2]>, #launch.memref<"table", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
