// RUN: fovea-run %s --outputs %t.npy
// RUN: %python %S/../Inputs/npy.py print %t.npy | FileCheck %s

// CHECK: shape 3 4
// CHECK-NEXT: 2 3 4 5
// CHECK-NEXT: 1 2 3 4
// CHECK-NEXT: 0 1 2 3
gpu.module @m {
  gpu.func @f(%o: memref<3x4xi32>) kernel {
    %c0 = arith.constant 0 : index
    %i = tile.iota dim 1 : tensor<1x7xi32, #tile.reg>
    %x = tile.diagonals %i : tensor<1x7xi32, #tile.reg> to tensor<3x4xi32, #tile.reg>
    tile.store %x, %o[%c0, %c0] dims [0, 1] : tensor<3x4xi32, #tile.reg>, memref<3x4xi32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<3x4xi32>, ["A", "B"], 4>])
    parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
