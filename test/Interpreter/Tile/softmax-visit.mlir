// RUN: %python %S/../Inputs/npy.py write %t.x.npy i32 "[48, 0, 16, 32]"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s

// Three blocks are executed, in the order of the list: keys 48, 0 and 16. The
// first one is masked, so the mean is over the values 7 * 0 + 1 and 7 * 16 + 2,
// where 1 and 2 are loop-carried by the `visit` region. Without a block there
// is no result.
// CHECK: 57.5 0

!row = tensor<1x1xf32, #tile.reg>
!full = tensor<1x16xf32, #tile.reg>
!acc = tensor<1x1xf32, #tile.reg>
!values = tensor<16x1xf32, #tile.reg>

gpu.module @visit_module {
  gpu.func @visit(%x: memref<4xi32>, %o: memref<2xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c7 = arith.constant 7 : index
    %c1000 = arith.constant 1000 : index
    %zero = arith.constant dense<0.0> : !full
    %hidden = arith.constant dense<0xFF800000> : !full
    %m, %l, %acc = tile.softmax_sum blocks %c3 masked(%c1) init(%c0 : index) step 16 scale(1.0)
      visit(%n: index, %w: index) {
        %number = memref.load %x[%n] : memref<4xi32>
        %j = arith.index_cast %number : i32 to index
        %scaled = arith.muli %j, %c7 : index
        %key = arith.addi %scaled, %w : index
        %next = arith.addi %w, %c1 : index
        tile.yield %key, %next : index, index
      }
      scores(%j: index, %partial: i1) {
        %s = arith.select %partial, %hidden, %zero : !full
        tile.yield %s : !full
      }
      values(%j: index) {
        %int = arith.index_cast %j : index to i32
        %float = arith.sitofp %int : i32 to f32
        %v = tile.broadcast %float : f32 to !values
        tile.yield %v : !values
      } : !row, !acc
    %out, %lse = tile.softmax_finish %m, %l, %acc : !row, !acc
    tile.store %out, %o[%c0] dims [0, -1] : !row, memref<2xf32>
    %m2, %l2, %acc2 = tile.softmax_sum blocks %c0 masked(%c0) step 16 scale(1.0)
      visit(%n: index) {
        tile.yield %c1000 : index
      }
      scores(%j: index, %partial: i1) {
        tile.yield %zero : !full
      }
      values(%j: index) {
        %v = arith.constant dense<1.0> : !values
        tile.yield %v : !values
      } : !row, !acc
    %out2, %lse2 = tile.softmax_finish %m2, %l2, %acc2 : !row, !acc
    tile.store %out2, %o[%c1] dims [0, -1] : !row, memref<2xf32>
    gpu.return
  }
  launch.abi @visit target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<4xi32>, ["A"], 4>, #launch.tensor<"o", write, tensor<2xf32>, ["B"], 4>])
    parameters([#launch.memref<"x", [0]>, #launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
