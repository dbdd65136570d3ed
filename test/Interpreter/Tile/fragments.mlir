// Consecutive blocks of 16 rows and 8 columns, each contiguous: row 8a + r,
// column 2t + e of a block at 16 r + 4 t + 2 a + e. A load reads back what was
// stored.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy f32 "np.arange(1024).reshape(32, 32)"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy %t.back.npy %t.row.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy %t.back.npy %t.row.npy | FileCheck %s

// CHECK: shape 32 32
// Rows 0 and 8 of the first block, in pairs of columns, then rows 1 and 9.
// CHECK-NEXT: 0 1 256 257 2 3 258 259 4 5 260 261 6 7 262 263 32 33
// CHECK-NEXT: 64 65 320 321
// CHECK-NEXT: 128 129 384 385
// CHECK-NEXT: 192 193 448 449
// The second block of the same rows.
// CHECK-NEXT: 8 9 264 265 10 11 266 267 12 13 268 269 14 15 270 271 40 41
// CHECK-COUNT-11: {{^[0-9]+ [0-9]+ [0-9]+}}
// The next 16 rows, added to themselves.
// CHECK-NEXT: 1024 1026 1536 1538 1028 1030
// CHECK: shape 32 32
// CHECK-NEXT: 0 1 2 3 4 5 6 7 8 9
// CHECK-NEXT: 32 33 34
// CHECK-COUNT-14: {{^[0-9]+ [0-9]+ [0-9]+}}
// CHECK-NEXT: 1024 1026 1028 1030
// A column as a vector in fragments.
// CHECK: shape 16
// CHECK-NEXT: 1 33 257 289 65 97 321 353 129 161 385 417 193 225 449 481
!tile = tensor<32x32xf32, #tile.reg>
!half = tensor<16x32xf32, #tile.reg>
!memory = memref<32x32xf32>
gpu.module @m {
  gpu.func @f(%x: !memory, %o: !memory, %back: !memory, %row: memref<16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %a = tile.load %x[%c0, %c0] dims [0, 1] : !memory to !tile
    tile.store %a, %o[%c0, %c0] dims [0, 1] fragments : !tile, !memory
    %b = tile.load %x[%c16, %c0] dims [0, 1] : !memory to !half
    tile.store add %b, %o[%c16, %c0] dims [0, 1] fragments : !half, !memory
    %c = tile.load %o[%c0, %c0] dims [0, 1] fragments : !memory to !tile
    tile.store %c, %back[%c0, %c0] dims [0, 1] : !tile, !memory
    %d = tile.load %x[%c0, %c1] dims [0, -1] : !memory to tensor<16x1xf32, #tile.reg>
    tile.store %d, %row[%c0] dims [0, -1] fragments : tensor<16x1xf32, #tile.reg>, memref<16xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<32x32xf32>, ["A", "B"], 4>, #launch.tensor<"o", write, tensor<32x32xf32>, ["A", "B"], 4>,
             #launch.tensor<"back", write, tensor<32x32xf32>, ["A", "B"], 4>, #launch.tensor<"row", write, tensor<16xf32>, ["C"], 4>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.memref<"back", [0, 1]>, #launch.memref<"row", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
