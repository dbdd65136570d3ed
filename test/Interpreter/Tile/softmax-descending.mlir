// RUN: %python %S/../Inputs/npy.py write %t.x.npy f32 "[2]"
// RUN: fovea-run %s --entry=good --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s
// RUN: not fovea-run %s --entry=bad --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=BAD

// Keys 16 to 31 come before keys 0 to 15; the first block is partial although
// it is full, and an empty range has one block.
// CHECK: 2 0

!row = tensor<1x1xf32, #tile.reg>
!full = tensor<1x16xf32, #tile.reg>
!acc = tensor<1x1xf32, #tile.reg>
!values = tensor<16x1xf32, #tile.reg>

gpu.module @good_module {
  gpu.func @good(%x: memref<1xf32>, %o: memref<2xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : !full
    %one = arith.constant dense<1.0> : !values
    %hidden = arith.constant dense<0xFF800000> : !full
    %x1 = tile.load %x[%c0] dims [0, -1] : memref<1xf32> to !row
    %xs = tile.broadcast %x1 : !row to !values
    // Only block 0 counts: block 16 is partial and therefore masked.
    %m, %l, %acc = tile.softmax_sum %c0 to %c32 step 16 descending full(%c0, %c32) scale(1.0)
      scores(%j: index, %partial: i1) {
        %s = arith.select %partial, %hidden, %zero : !full
        tile.yield %s : !full
      }
      values(%j: index) {
        %first = arith.cmpi eq, %j, %c0 : index
        %v = arith.select %first, %xs, %one : !values
        tile.yield %v : !values
      } : !row, !acc
    %out, %lse = tile.softmax_finish %m, %l, %acc : !row, !acc
    tile.store %out, %o[%c0] dims [0, -1] : !row, memref<2xf32>
    %m2, %l2, %acc2 = tile.softmax_sum %c32 to %c0 step 16 descending full(%c0, %c32) scale(1.0)
      scores(%j: index, %partial: i1) {
        %s = arith.select %partial, %hidden, %zero : !full
        tile.yield %s : !full
      }
      values(%j: index) {
        tile.yield %one : !values
      } : !row, !acc
    %out2, %lse2 = tile.softmax_finish %m2, %l2, %acc2 : !row, !acc
    tile.store %out2, %o[%c1] dims [0, -1] : !row, memref<2xf32>
    gpu.return
  }
  launch.abi @good target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<1xf32>, ["A"], 4>, #launch.tensor<"o", write, tensor<2xf32>, ["B"], 4>])
    parameters([#launch.memref<"x", [0]>, #launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
gpu.module @bad_module {
  gpu.func @bad(%x: memref<1xf32>, %o: memref<2xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : !full
    %one = arith.constant dense<1.0> : !values
    // BAD: softmax-descending.mlir:[[@LINE+1]]:{{.*}} error: the range of blocks is empty, but the block that always executes has scores other than -inf
    %m, %l, %acc = tile.softmax_sum %c0 to %c0 step 16 descending full(%c0, %c0) scale(1.0)
      scores(%j: index, %partial: i1) {
        tile.yield %zero : !full
      }
      values(%j: index) {
        tile.yield %one : !values
      } : !row, !acc
    tile.store %acc, %o[%c0] dims [0, -1] : !row, memref<2xf32>
    gpu.return
  }
  launch.abi @bad target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<1xf32>, ["A"], 4>, #launch.tensor<"o", write, tensor<2xf32>, ["B"], 4>])
    parameters([#launch.memref<"x", [0]>, #launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
