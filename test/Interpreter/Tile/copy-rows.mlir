// Row 1 of the source goes to row 2 of the target; an index out of range copies nothing.
// RUN: %python %S/../Inputs/npy.py write %t.a.npy f32 "np.arange(1, 7).reshape(3, 2)"
// RUN: %python %S/../Inputs/npy.py write %t.b.npy f32 "np.zeros((3, 2))"
// RUN: fovea-run %s --inputs %t.a.npy %t.b.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s

// CHECK: shape 3 2
// CHECK-NEXT: 0 0
// CHECK-NEXT: 0 0
// CHECK-NEXT: 3 4
gpu.module @m {
  gpu.func @f(%a: memref<3x2xf32>, %b: memref<3x2xf32>) kernel {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %negative = arith.constant -1 : index
    tile.copy_rows %a[%c1] to %b[%c2] : memref<3x2xf32> to memref<3x2xf32>
    tile.copy_rows %a[%c3] to %b[%c1] : memref<3x2xf32> to memref<3x2xf32>
    tile.copy_rows %a[%c1] to %b[%negative] : memref<3x2xf32> to memref<3x2xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"a", read, tensor<3x2xf32>, ["A", "B"], 4>, #launch.tensor<"b", update, tensor<3x2xf32>, ["A", "B"], 4>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"b", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
