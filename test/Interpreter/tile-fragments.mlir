// Blocks of 8 rows and 16 columns lie one behind the other, each in one piece: row r,
// column 8a + 2t + e of a block at 16 r + 4 t + 2 a + e. What is stored so is what is loaded so.
// RUN: %python %S/Inputs/npy.py write %t.x.npy f32 "np.arange(512).reshape(16, 32)"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy %t.back.npy %t.row.npy
// RUN: %python %S/Inputs/npy.py print %t.o.npy %t.back.npy %t.row.npy | FileCheck %s

// CHECK: shape 16 32
// Row 0 of the first block, then row 1: their columns in pairs of two chunks of 8.
// CHECK-NEXT: 0 1 8 9 2 3 10 11 4 5 12 13 6 7 14 15 32 33 40 41 34 35 42 43 36 37 44 45 38 39 46 47
// CHECK-NEXT: 64 65 72 73
// CHECK-NEXT: 128
// CHECK-NEXT: 192
// The second block of the same rows.
// CHECK-NEXT: 16 17 24 25 18 19 26 27 20 21 28 29 22 23 30 31 48 49
// CHECK-NEXT: 80
// CHECK-NEXT: 144
// CHECK-NEXT: 208
// The next 8 rows, added to themselves.
// CHECK-NEXT: 512 514 528 530 516 518
// CHECK: shape 16 32
// CHECK-NEXT: 0 1 2 3 4 5 6 7 8 9
// CHECK-NEXT: 32 33 34
// CHECK-COUNT-6: {{^[0-9]+ [0-9]+ [0-9]+}}
// CHECK-NEXT: 512 514 516 518
// A column as a vector in fragments.
// CHECK: shape 16
// CHECK-NEXT: 1 33 257 289 65 97 321 353 129 161 385 417 193 225 449 481
!tile = tensor<16x32xf32, #tile.reg>
!half = tensor<8x32xf32, #tile.reg>
!memory = memref<16x32xf32>
gpu.module @m {
  gpu.func @f(%x: !memory, %o: !memory, %back: !memory, %row: memref<16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %a = tile.load %x[%c0, %c0] dims [0, 1] : !memory to !tile
    tile.store %a, %o[%c0, %c0] dims [0, 1] fragments : !tile, !memory
    %b = tile.load %x[%c8, %c0] dims [0, 1] : !memory to !half
    tile.store add %b, %o[%c8, %c0] dims [0, 1] fragments : !half, !memory
    %c = tile.load %o[%c0, %c0] dims [0, 1] fragments : !memory to !tile
    tile.store %c, %back[%c0, %c0] dims [0, 1] : !tile, !memory
    %d = tile.load %x[%c0, %c1] dims [0, -1] : !memory to tensor<16x1xf32, #tile.reg>
    tile.store %d, %row[%c0] dims [0, -1] fragments : tensor<16x1xf32, #tile.reg>, memref<16xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<16x32xf32>, ["A", "B"], 4>, #launch.tensor<"o", write, tensor<16x32xf32>, ["A", "B"], 4>,
             #launch.tensor<"back", write, tensor<16x32xf32>, ["A", "B"], 4>, #launch.tensor<"row", write, tensor<16xf32>, ["A"], 4>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.memref<"back", [0, 1]>, #launch.memref<"row", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
