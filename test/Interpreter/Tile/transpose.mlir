// RUN: %python %S/../Inputs/npy.py write %t.a.npy f32 "[[1, 2], [3, 4], [5, 6]]"
// RUN: fovea-run %s --inputs %t.a.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s

// CHECK: shape 2 3
// CHECK-NEXT: 1 3 5
// CHECK-NEXT: 2 4 6
gpu.module @m {
  gpu.func @f(%a: memref<3x2xf32>, %o: memref<2x3xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %a[%c0, %c0] dims [0, 1] : memref<3x2xf32> to tensor<3x2xf32, #tile.reg>
    %t = tile.transpose %x : tensor<3x2xf32, #tile.reg> to tensor<2x3xf32, #tile.reg>
    tile.store %t, %o[%c0, %c0] dims [0, 1] : tensor<2x3xf32, #tile.reg>, memref<2x3xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"a", read, tensor<3x2xf32>, ["A", "B"], 4>, #launch.tensor<"o", write, tensor<2x3xf32>, ["B", "A"], 4>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
