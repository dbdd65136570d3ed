// A block outside the visible range must have scores of -inf.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy f32 "[2]"
// RUN: fovea-run %s --entry=good --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s
// RUN: sed -e 's/visible(%c16, %c32)/visible(%c0, %c16)/' %s > %t.late.mlir
// RUN: not fovea-run %t.late.mlir --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: sed -e 's/visible(%c16, %c32)/visible(%c32, %c32)/' %s > %t.early.mlir
// RUN: not fovea-run %t.early.mlir --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=BAD

// CHECK: shape 1
// CHECK-NEXT: 2
// BAD: error: the block is not visible, but not all of its scores are -inf
!row = tensor<1x1xf32, #tile.reg>
!full = tensor<1x16xf32, #tile.reg>
!values = tensor<16x1xf32, #tile.reg>
gpu.module @good_module {
  gpu.func @good(%x: memref<1xf32>, %o: memref<1xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : !full
    %hidden = arith.constant dense<0xFF800000> : !full
    %x1 = tile.load %x[%c0] dims [0, -1] : memref<1xf32> to !row
    %xs = tile.broadcast %x1 : !row to !values
    // Block 0 is hidden, block 16 is not.
    %m, %l, %acc = tile.softmax_sum %c0 to %c32 step 16 full(%c0, %c0) visible(%c16, %c32) scale(1.0)
      scores(%j: index, %partial: i1) {
        %first = arith.cmpi eq, %j, %c0 : index
        %s = arith.select %first, %hidden, %zero : !full
        tile.yield %s : !full
      }
      values(%j: index) {
        tile.yield %xs : !values
      } : !row, !row
    %out, %lse = tile.softmax_finish %m, %l, %acc : !row, !row
    tile.store %out, %o[%c0] dims [0, -1] : !row, memref<1xf32>
    gpu.return
  }
  launch.abi @good target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<1xf32>, ["A"], 4>, #launch.tensor<"o", write, tensor<1xf32>, ["B"], 4>])
    parameters([#launch.memref<"x", [0]>, #launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
