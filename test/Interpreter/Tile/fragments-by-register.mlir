// Fragments that store one register of all lanes after the other: row 8a + r,
// column 2t + e of a block at 64 a + 32 e + 4 r + t. A load reads back what was
// stored.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy f32 "np.arange(1024).reshape(32, 32)"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy %t.back.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy %t.back.npy | FileCheck %s

// CHECK: shape 32 32
// CHECK-NEXT: 0 2 4 6 32 34 36 38 64
// CHECK-NEXT: 1 3 5 7 33 35 37 39 65
// CHECK-NEXT: 256 258 260 262 288
// CHECK-NEXT: 257 259 261 263 289
// The second block of the same rows.
// CHECK-NEXT: 8 10 12 14 40
// CHECK-COUNT-11: {{^[0-9]+ [0-9]+ [0-9]+}}
// The next 16 rows, added to themselves.
// CHECK-NEXT: 1024 1028 1032 1036 1088
// CHECK: shape 32 32
// CHECK-NEXT: 0 1 2 3 4 5 6 7 8 9
// CHECK-NEXT: 32 33 34
// CHECK-COUNT-14: {{^[0-9]+ [0-9]+ [0-9]+}}
// CHECK-NEXT: 1024 1026 1028 1030
!tile = tensor<32x32xf32, #tile.reg>
!half = tensor<16x32xf32, #tile.reg>
!memory = memref<32x32xf32>
gpu.module @m {
  gpu.func @f(%x: !memory, %o: !memory, %back: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %a = tile.load %x[%c0, %c0] dims [0, 1] : !memory to !tile
    tile.store %a, %o[%c0, %c0] dims [0, 1] fragments by_register : !tile, !memory
    %b = tile.load %x[%c16, %c0] dims [0, 1] : !memory to !half
    tile.store add %b, %o[%c16, %c0] dims [0, 1] fragments by_register : !half, !memory
    %c = tile.load %o[%c0, %c0] dims [0, 1] fragments by_register : !memory to !tile
    tile.store %c, %back[%c0, %c0] dims [0, 1] : !tile, !memory
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<32x32xf32>, ["A", "B"], 4>, #launch.tensor<"o", write, tensor<32x32xf32>, ["A", "B"], 4>,
             #launch.tensor<"back", write, tensor<32x32xf32>, ["A", "B"], 4>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.memref<"back", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
