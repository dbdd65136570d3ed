// A block is partial below the first bound and from the second one on; an
// absent bound excludes no block.
// RUN: fovea-run %s --outputs %t.npy
// RUN: %python %S/../Inputs/npy.py print %t.npy | FileCheck %s

// CHECK: shape 3 5
// CHECK-NEXT: 1 1 0 0 1
// CHECK-NEXT: 1 1 0 0 0
// CHECK-NEXT: 0 0 0 0 1
gpu.module @m {
  gpu.func @f(%o: memref<3x5xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    scf.for %n = %c0 to %c5 step %c1 {
      %both = tile.is_partial %n below %c2 from %c4
      %below = tile.is_partial %n below %c2
      %behind = tile.is_partial %n from %c4
      %a = arith.uitofp %both : i1 to f32
      %b = arith.uitofp %below : i1 to f32
      %c = arith.uitofp %behind : i1 to f32
      %x = tile.broadcast %a : f32 to tensor<1x1xf32, #tile.reg>
      %y = tile.broadcast %b : f32 to tensor<1x1xf32, #tile.reg>
      %z = tile.broadcast %c : f32 to tensor<1x1xf32, #tile.reg>
      tile.store %x, %o[%c0, %n] dims [0, 1] : tensor<1x1xf32, #tile.reg>, memref<3x5xf32>
      tile.store %y, %o[%c1, %n] dims [0, 1] : tensor<1x1xf32, #tile.reg>, memref<3x5xf32>
      tile.store %z, %o[%c2, %n] dims [0, 1] : tensor<1x1xf32, #tile.reg>, memref<3x5xf32>
    }
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<3x5xf32>, ["A", "B"], 4>])
    parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
