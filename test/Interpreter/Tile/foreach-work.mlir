// RUN: %python %S/../Inputs/npy.py write %t.x.npy f32 "[1, 2, 3, 4, 5, 6, 7]"
// RUN: fovea-run %s --entry=persistent --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s
// RUN: not fovea-run %s --entry=single --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=SINGLE

// The distribution of seven work items over three CTAs.
// CHECK: 0 1 2 0 1 2 0
!one = tensor<1x1xf32, #tile.reg>
gpu.module @persistent_module {
  gpu.func @persistent(%x: memref<7xf32>, %o: memref<7xf32>) kernel {
    %c7 = arith.constant 7 : index
    %cta = gpu.block_id x
    tile.foreach_work %w to %c7 schedule(dynamic) {
      %number = arith.index_cast %cta : index to i32
      %float = arith.sitofp %number : i32 to f32
      %v = tile.broadcast %float : f32 to !one
      tile.store %v, %o[%w] dims [0, -1] : !one, memref<7xf32>
    }
    gpu.return
  }
  launch.abi @persistent target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1, work = dynamic>)
    tensors([#launch.tensor<"x", read, tensor<7xf32>, ["A"], 4>, #launch.tensor<"o", write, tensor<7xf32>, ["A"], 4>])
    parameters([#launch.memref<"x", [0]>, #launch.memref<"o", [0]>])
    grid([] affine_map<() -> (7)>) threads(32) shared_memory(0) persistent(1)
}
gpu.module @single_module {
  gpu.func @single(%x: memref<7xf32>, %o: memref<7xf32>) kernel {
    %c7 = arith.constant 7 : index
    // SINGLE: foreach-work.mlir:[[@LINE+1]]:{{.*}} error: with one work item per CTA, the grid must have 7 CTAs, found 5
    tile.foreach_work %w to %c7 schedule(single) {
      %v = tile.load %x[%w] dims [0, -1] : memref<7xf32> to !one
      tile.store %v, %o[%w] dims [0, -1] : !one, memref<7xf32>
    }
    gpu.return
  }
  launch.abi @single target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<7xf32>, ["A"], 4>, #launch.tensor<"o", write, tensor<7xf32>, ["A"], 4>])
    parameters([#launch.memref<"x", [0]>, #launch.memref<"o", [0]>])
    grid([] affine_map<() -> (5)>) threads(32) shared_memory(0)
}
