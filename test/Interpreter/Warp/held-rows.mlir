// Warp groups of a role own parts of a tile's rows by its layout: they execute
// independently, and store only these rows. Each row gets the end of its part,
// plus a trip count that depends on the part.
// RUN: fovea-run %s --entry=roles --outputs %t.o.npy --seeds=5
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s --check-prefix=ROLES
// ROLES: shape 128 1
// ROLES-COUNT-64: {{^64$}}
// ROLES-COUNT-64: {{^129$}}

// Without roles, or without such a layout, the agent owns all rows.
// RUN: fovea-run %s --entry=alone --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s --check-prefix=ALONE
// ALONE: shape 128 1
// ALONE-COUNT-128: {{^128$}}

#reg = #warp.wgmma<groups = 2>
!row = tensor<128x1xf32, #reg>
!o = memref<128x1xf32>
gpu.module @m {
  gpu.func @roles(%o: !o) kernel {
    warp.specialize captures(%o : !o)
      role @compute warps(8) regs(168) {
      ^bb0(%o0: !o):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c64 = arith.constant 64 : index
        %first, %count = tile.held_rows !row
        %end = arith.addi %first, %count : index
        %rounds = arith.divui %first, %c64 : index
        %sum = scf.for %i = %c0 to %rounds step %c1 iter_args(%x = %end) -> (index) {
          %y = arith.addi %x, %c1 : index
          scf.yield %y : index
        }
        %small = arith.index_cast %sum : index to i32
        %value = arith.sitofp %small : i32 to f32
        %row = tile.broadcast %value : f32 to !row
        tile.store %row, %o0[%c0, %c0] dims [0, 1] : !row, !o
        warp.return
      }
    gpu.return
  }
  launch.abi @roles target("sm_90a")
    plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<128x1xf32>, ["M", "N"], 4>])
    parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)

  gpu.func @alone(%o: !o) kernel {
    %c0 = arith.constant 0 : index
    %first, %count = tile.held_rows !row
    %end = arith.addi %first, %count : index
    %small = arith.index_cast %end : index to i32
    %value = arith.sitofp %small : i32 to f32
    %row = tile.broadcast %value : f32 to !row
    tile.store %row, %o[%c0, %c0] dims [0, 1] : !row, !o
    gpu.return
  }
  launch.abi @alone target("sm_90a")
    plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<128x1xf32>, ["M", "N"], 4>])
    parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
}
