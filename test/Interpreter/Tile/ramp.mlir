// RUN: fovea-run %s --outputs %t.r.npy %t.c.npy
// RUN: %python %S/../Inputs/npy.py print %t.r.npy %t.c.npy | FileCheck %s

// CHECK: shape 3 1
// CHECK-NEXT: 5
// CHECK-NEXT: 3
// CHECK-NEXT: 1
// CHECK: shape 1 4
// CHECK-NEXT: 0.5 1 1.5 2
gpu.module @m {
  gpu.func @f(%r: memref<3x1xf32>, %c: memref<1x4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %half = arith.constant 0.5 : f32
    %five = arith.constant 5.0 : f32
    %down = arith.constant -2.0 : f32
    %rows = tile.ramp %five step %down dim 0 : tensor<3x1xf32, #tile.reg>
    %columns = tile.ramp %half step %half dim 1 : tensor<1x4xf32, #tile.reg>
    tile.store %rows, %r[%c0, %c0] dims [0, 1] : tensor<3x1xf32, #tile.reg>, memref<3x1xf32>
    tile.store %columns, %c[%c0, %c0] dims [0, 1] : tensor<1x4xf32, #tile.reg>, memref<1x4xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"r", write, tensor<3x1xf32>, ["A", "B"], 4>, #launch.tensor<"c", write, tensor<1x4xf32>, ["B", "C"], 4>])
    parameters([#launch.memref<"r", [0, 1]>, #launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
