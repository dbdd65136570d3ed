// `max` propagates NaN; with an extent above 1, element e combines e, e + E,
// ...
// RUN: %python %S/../Inputs/npy.py write %t.x.npy f32 "[[1, 5, 2, 3], [1, np.nan, 2, 3]]"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.max.npy %t.add.npy %t.rows.npy
// RUN: %python %S/../Inputs/npy.py print %t.max.npy %t.add.npy %t.rows.npy | FileCheck %s

// CHECK: shape 2
// CHECK-NEXT: 5 nan
// CHECK: shape 2 2
// CHECK-NEXT: 3 8
// CHECK-NEXT: 3 nan
// CHECK: shape 4
// CHECK-NEXT: 2 nan 4 6
gpu.module @m {
  gpu.func @f(%x: memref<2x4xf32>, %max: memref<2xf32>, %add: memref<2x2xf32>, %rows: memref<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0, %c0] dims [0, 1] : memref<2x4xf32> to tensor<2x4xf32, #tile.reg>
    %m = tile.reduce max dim 1 %a : tensor<2x4xf32, #tile.reg> to tensor<2x1xf32, #tile.reg>
    %p = tile.reduce add dim 1 %a : tensor<2x4xf32, #tile.reg> to tensor<2x2xf32, #tile.reg>
    %r = tile.reduce add dim 0 %a : tensor<2x4xf32, #tile.reg> to tensor<1x4xf32, #tile.reg>
    tile.store %m, %max[%c0] dims [0, -1] : tensor<2x1xf32, #tile.reg>, memref<2xf32>
    tile.store %p, %add[%c0, %c0] dims [0, 1] : tensor<2x2xf32, #tile.reg>, memref<2x2xf32>
    tile.store %r, %rows[%c0] dims [-1, 0] : tensor<1x4xf32, #tile.reg>, memref<4xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<2x4xf32>, ["A", "B"], 4>, #launch.tensor<"max", write, tensor<2xf32>, ["A"], 4>,
             #launch.tensor<"add", write, tensor<2x2xf32>, ["A", "A"], 4>, #launch.tensor<"rows", write, tensor<4xf32>, ["B"], 4>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"max", [0]>, #launch.memref<"add", [0, 1]>, #launch.memref<"rows", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
