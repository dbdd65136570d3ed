// Two stores replace columns of a buffer, in either order, and a third one
// replaces some of them again.
// RUN: fovea-run %s --entry=columns --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s
// CHECK: shape 2 8
// CHECK-NEXT: {{^}}1 1 7 7 0 1 2 3
// CHECK-NEXT: {{^}}1 1 7 7 0 1 2 3

// Each warp group would replace columns of its own rows.
// RUN: not fovea-run %s --entry=groups 2>&1 | FileCheck %s --check-prefix=GROUPS
// GROUPS: error: stores columns of a buffer whose rows several warp groups own: expected whole rows

#groups = #warp.wgmma<groups = 2>
!o = memref<2x8xf32>
!b = memref<2x8xf32, #warp.shared<row_bytes = 32>>
!half = tensor<2x4xf32, #tile.reg>
!quarter = tensor<2x2xf32, #tile.reg>
!whole = tensor<2x8xf32, #tile.reg>
!rows = memref<128x32xf32, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @columns target("sm_80") plan(<#warp.mma_sync_unit, warps = 4>)
    tensors([#launch.tensor<"o", write, tensor<2x8xf32>, ["R", "C"], 16>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @columns(%o: !o) kernel {
    %c0 = arith.constant 0 : index
    %ones = arith.constant dense<1.0> : !half
    %seven = arith.constant dense<7.0> : !quarter
    %n = tile.iota dim 1 : tensor<1x4xi32, #tile.reg>
    %f = arith.sitofp %n : tensor<1x4xi32, #tile.reg> to tensor<1x4xf32, #tile.reg>
    %count = tile.broadcast %f : tensor<1x4xf32, #tile.reg> to !half
    %b = warp.alloc : !b
    warp.local_store %count to %b column(4) : !half, !b
    warp.local_store %ones to %b column(0) : !half, !b
    warp.local_store %seven to %b column(2) : !quarter, !b
    %x = warp.local_load %b : !b to !whole
    tile.store %x, %o[%c0, %c0] dims [0, 1] : !whole, !o
    gpu.return
  }

  launch.abi @groups target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @groups() kernel {
    %B = warp.alloc : !rows
    warp.specialize captures(%B : !rows)
      role @compute warps(8) regs(240) {
      ^bb0(%b: !rows):
        %x = arith.constant dense<1.0> : tensor<128x16xf32, #groups>
        warp.local_store %x to %b column(16) : tensor<128x16xf32, #groups>, !rows
        warp.return
      }
    gpu.return
  }
}
