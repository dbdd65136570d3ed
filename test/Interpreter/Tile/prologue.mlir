// The kernels of a prologue run first; they share scratch memory, which is
// undefined before. `min` is a reduction like `max`.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy i32 "[[3, -1, 2], [7, 5, 9]]"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s
// RUN: sed -e 's/prologue(\[@least\])//' -e '/^  launch.abi @least/,/^  } .. least/ d' %s > %t.alone.mlir
// RUN: fovea-run %t.alone.mlir --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s --check-prefix=ALONE

// CHECK: shape 2 1
// CHECK-NEXT: -1
// CHECK-NEXT: 5
// ALONE: shape 2 1
// ALONE-NEXT: -1
// ALONE-NEXT: -1
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?x3xi32>, ["S", "D"], 4>, #launch.tensor<"o", write, tensor<?x1xi32>, ["S", "E"], 4>])
    parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s, 1)>>, #launch.memref<"o", [0, 1]>, #launch.memref<"x", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(32) shared_memory(0) prologue([@least])
  gpu.func @f(%least: memref<?x1xi32>, %o: memref<?x1xi32>, %x: memref<?x3xi32>) kernel {
    %c0 = arith.constant 0 : index
    %i = gpu.block_id x
    %t = tile.load %least[%i, %c0] dims [0, 1] : memref<?x1xi32> to tensor<1x1xi32, #tile.reg>
    tile.store %t, %o[%i, %c0] dims [0, 1] : tensor<1x1xi32, #tile.reg>, memref<?x1xi32>
    gpu.return
  }
  launch.abi @least target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?x3xi32>, ["S", "D"], 4>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s, 1)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(32) shared_memory(0)
  gpu.func @least(%x: memref<?x3xi32>, %least: memref<?x1xi32>) kernel {
    %c0 = arith.constant 0 : index
    %i = gpu.block_id x
    %t = tile.load %x[%i, %c0] dims [0, 1] : memref<?x3xi32> to tensor<1x3xi32, #tile.reg>
    %m = tile.reduce min dim 1 %t : tensor<1x3xi32, #tile.reg> to tensor<1x1xi32, #tile.reg>
    tile.store %m, %least[%i, %c0] dims [0, 1] : tensor<1x1xi32, #tile.reg>, memref<?x1xi32>
    gpu.return
  } // least
}
