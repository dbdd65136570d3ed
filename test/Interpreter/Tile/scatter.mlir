// Elements are stored at the given indices; those with a false mask or indices
// out of bounds are dropped. Two elements must not have the same address.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy i32 "[3, 9, -1, 0, 7, 2]"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s
// RUN: %python %S/../Inputs/npy.py write %t.x.npy i32 "[3, 9, -1, 0, 0, 2]"
// RUN: not fovea-run %s --inputs %t.x.npy --outputs %t.o.npy 2>&1 | FileCheck %s --check-prefix=TWICE

// The element at 4 is masked.
// CHECK: shape 2 4
// CHECK-NEXT: 3 -1 5 0
// CHECK-NEXT: -1 -1 -1 -1
gpu.module @m {
  gpu.func @f(%x: memref<6xi32>, %o: memref<2x4xi32>) kernel {
    %c0 = arith.constant 0 : index
    %four = arith.constant dense<4> : tensor<6x1xi32, #tile.reg>
    %n = tile.iota dim 0 : tensor<6x1xi32, #tile.reg>
    %all = tile.iota dim 1 : tensor<1x4xi32, #tile.reg>
    %empty = arith.constant dense<-1> : tensor<2x4xi32, #tile.reg>
    tile.store %empty, %o[%c0, %c0] dims [0, 1] : tensor<2x4xi32, #tile.reg>, memref<2x4xi32>
    %at = tile.load %x[%c0] dims [0, -1] : memref<6xi32> to tensor<6x1xi32, #tile.reg>
    %keep = arith.cmpi ne, %n, %four : tensor<6x1xi32, #tile.reg>
    tile.scatter %n, %o[%c0, %at] mask(%keep : tensor<6x1xi1, #tile.reg>)
      : tensor<6x1xi32, #tile.reg>, memref<2x4xi32>[index, tensor<6x1xi32, #tile.reg>]
    // TWICE: scatter.mlir:[[@LINE+1]]:{{.*}}error: element (4, 0) has the same address as another one
    tile.scatter %n, %o[%c0, %at]
      : tensor<6x1xi32, #tile.reg>, memref<2x4xi32>[index, tensor<6x1xi32, #tile.reg>]
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<6xi32>, ["A"], 4>, #launch.tensor<"o", write, tensor<2x4xi32>, ["C", "D"], 4>])
    parameters([#launch.memref<"x", [0]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
