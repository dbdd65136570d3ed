// RUN: %python %S/../Inputs/npy.py write %t.x.npy f32 "[1, 2]"
// RUN: fovea-run %s --entry=good --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s
// RUN: not fovea-run %s --entry=bad --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=BAD

// CHECK: 1 20
gpu.module @good_module {
  gpu.func @good(%x: memref<2xf32>, %o: memref<2xf32>) kernel {
    %c0 = arith.constant 0 : index
    %bound = arith.constant dense<1.5> : tensor<2x1xf32, #tile.reg>
    %one = arith.constant dense<1.0> : tensor<2x1xf32, #tile.reg>
    %ten = arith.constant dense<10.0> : tensor<2x1xf32, #tile.reg>
    %a = tile.load %x[%c0] dims [0, -1] : memref<2xf32> to tensor<2x1xf32, #tile.reg>
    %c = arith.cmpf ogt, %a, %bound : tensor<2x1xf32, #tile.reg>
    %r = tile.if_any %c init(%a : tensor<2x1xf32, #tile.reg>) : tensor<2x1xi1, #tile.reg> {
    ^bb0(%v: tensor<2x1xf32, #tile.reg>):
      %f = arith.select %c, %ten, %one : tensor<2x1xi1, #tile.reg>, tensor<2x1xf32, #tile.reg>
      %w = arith.mulf %v, %f : tensor<2x1xf32, #tile.reg>
      tile.yield %w : tensor<2x1xf32, #tile.reg>
    }
    tile.store %r, %o[%c0] dims [0, -1] : tensor<2x1xf32, #tile.reg>, memref<2xf32>
    gpu.return
  }
  launch.abi @good target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<2xf32>, ["A"], 4>, #launch.tensor<"o", write, tensor<2xf32>, ["A"], 4>])
    parameters([#launch.memref<"x", [0]>, #launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
// All conditions are false, but the body is checked nevertheless.
gpu.module @bad_module {
  gpu.func @bad(%x: memref<2xf32>, %o: memref<2xf32>) kernel {
    %c0 = arith.constant 0 : index
    %no = arith.constant dense<false> : tensor<2x1xi1, #tile.reg>
    %a = tile.load %x[%c0] dims [0, -1] : memref<2xf32> to tensor<2x1xf32, #tile.reg>
    // BAD: if-any.mlir:[[@LINE+2]]:{{.*}} error: body changes row 0 of result #0, whose condition is false: column 0 from 1{{.*}} to 2
    // BAD: note: in block 0 of 1
    %r = tile.if_any %no init(%a : tensor<2x1xf32, #tile.reg>) : tensor<2x1xi1, #tile.reg> {
    ^bb0(%v: tensor<2x1xf32, #tile.reg>):
      %w = arith.addf %v, %v : tensor<2x1xf32, #tile.reg>
      tile.yield %w : tensor<2x1xf32, #tile.reg>
    }
    tile.store %r, %o[%c0] dims [0, -1] : tensor<2x1xf32, #tile.reg>, memref<2xf32>
    gpu.return
  }
  launch.abi @bad target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<2xf32>, ["A"], 4>, #launch.tensor<"o", write, tensor<2xf32>, ["A"], 4>])
    parameters([#launch.memref<"x", [0]>, #launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
