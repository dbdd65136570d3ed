// Operands are exact, sums are f32: 256 + 1 = 257 exceeds the precision of
// bf16, and is only rounded (to even) by the truncation.
// RUN: %python %S/../Inputs/npy.py write %t.a.npy bf16 "[[1, 2], [256, 1], [0, -1]]"
// RUN: %python %S/../Inputs/npy.py write %t.b.npy bf16 "[[1, 1], [1, 0]]"
// RUN: fovea-run %s --inputs %t.a.npy %t.b.npy --outputs %t.o.npy %t.n.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy %t.n.npy | FileCheck %s

// CHECK: shape 3 2
// CHECK-NEXT: 4 2
// CHECK-NEXT: 258 257
// CHECK-NEXT: 0 1
// CHECK: shape 3 2
// CHECK-NEXT: 4 2
// CHECK-NEXT: 258 256
// CHECK-NEXT: 0 1
gpu.module @m {
  gpu.func @f(%a: memref<3x2xbf16>, %b: memref<2x2xbf16>, %o: memref<3x2xf32>, %n: memref<3x2xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant dense<1.0> : tensor<3x2xf32, #tile.reg>
    %x = tile.load %a[%c0, %c0] dims [0, 1] : memref<3x2xbf16> to tensor<3x2xbf16, #tile.reg>
    %y = tile.load %b[%c0, %c0] dims [0, 1] : memref<2x2xbf16> to tensor<2x2xbf16, #tile.reg>
    %t = tile.load %b[%c0, %c0] dims [1, 0] : memref<2x2xbf16> to tensor<2x2xbf16, #tile.reg>
    %d = tile.dot %x, %y, %one : tensor<3x2xbf16, #tile.reg>, tensor<2x2xbf16, #tile.reg>, tensor<3x2xf32, #tile.reg>
    tile.store %d, %o[%c0, %c0] dims [0, 1] : tensor<3x2xf32, #tile.reg>, memref<3x2xf32>
    %e = tile.dot %x, %t, %one transpose_b : tensor<3x2xbf16, #tile.reg>, tensor<2x2xbf16, #tile.reg>, tensor<3x2xf32, #tile.reg>
    %z = arith.truncf %e : tensor<3x2xf32, #tile.reg> to tensor<3x2xbf16, #tile.reg>
    tile.store %z, %n[%c0, %c0] dims [0, 1] : tensor<3x2xbf16, #tile.reg>, memref<3x2xbf16>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"a", read, tensor<3x2xbf16>, ["A", "B"], 2>, #launch.tensor<"b", read, tensor<2x2xbf16>, ["B", "B"], 2>,
             #launch.tensor<"o", write, tensor<3x2xf32>, ["A", "B"], 4>, #launch.tensor<"n", write, tensor<3x2xbf16>, ["A", "B"], 2>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"b", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.memref<"n", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
