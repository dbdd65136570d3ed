// RUN: %python %S/../Inputs/npy.py write %t.x.npy i32 "[5]"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s

// Columns from 5 on, and column 31 alone, whose bit is the sign.
// CHECK: shape 2
// CHECK-NEXT: -32 -2147483648

gpu.module @ballot_module {
  gpu.func @ballot(%x: memref<1xi32>, %o: memref<2xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %from = memref.load %x[%c0] : memref<1xi32>
    %columns = tile.iota dim 1 : tensor<1x32xi32, #tile.reg>
    %bound = tile.broadcast %from : i32 to tensor<1x32xi32, #tile.reg>
    %last = arith.constant dense<31> : tensor<1x32xi32, #tile.reg>
    %some = arith.cmpi sge, %columns, %bound : tensor<1x32xi32, #tile.reg>
    %one = arith.cmpi eq, %columns, %last : tensor<1x32xi32, #tile.reg>
    %a = tile.ballot %some : tensor<1x32xi1, #tile.reg>
    %b = tile.ballot %one : tensor<1x32xi1, #tile.reg>
    %a1 = tile.broadcast %a : i32 to tensor<1x1xi32, #tile.reg>
    %b1 = tile.broadcast %b : i32 to tensor<1x1xi32, #tile.reg>
    tile.store %a1, %o[%c0] dims [0, -1] : tensor<1x1xi32, #tile.reg>, memref<2xi32>
    tile.store %b1, %o[%c1] dims [0, -1] : tensor<1x1xi32, #tile.reg>, memref<2xi32>
    gpu.return
  }
  launch.abi @ballot target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<1xi32>, ["A"], 4>, #launch.tensor<"o", write, tensor<2xi32>, ["B"], 4>])
    parameters([#launch.memref<"x", [0]>, #launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
