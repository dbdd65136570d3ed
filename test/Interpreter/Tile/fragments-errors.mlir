// Tiles in fragments are whole: one that exceeds the memref or starts within a
// block would access wrong addresses.
// RUN: sed -e s/ROW/0/ -e s/FIRST/4/ %s > %t.0.mlir
// RUN: not fovea-run %t.0.mlir 2>&1 | FileCheck %s --check-prefix=COLUMN
// RUN: sed -e s/ROW/16/ -e s/FIRST/0/ %s > %t.1.mlir
// RUN: not fovea-run %t.1.mlir 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: sed -e s/ROW/-16/ -e s/FIRST/0/ %s > %t.2.mlir
// RUN: not fovea-run %t.2.mlir 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// COLUMN: error: tiles in fragments must start at a multiple of 8 and be within the memref, found 16 elements from 4 on, of 32
// COLUMN-NEXT: tile.store
// ROWS: error: tiles in fragments must start at a multiple of 16 and be within the memref, found 16 elements from 16 on, of 24
// NEGATIVE: error: tiles in fragments must start at a multiple of 16 and be within the memref, found 16 elements from -16 on, of 24
gpu.module @m {
  gpu.func @f(%o: memref<24x32xf32>) kernel {
    %row = arith.constant ROW : index
    %first = arith.constant FIRST : index
    %x = arith.constant dense<1.0> : tensor<16x16xf32, #tile.reg>
    tile.store %x, %o[%row, %first] dims [0, 1] fragments : tensor<16x16xf32, #tile.reg>, memref<24x32xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<24x32xf32>, ["A", "B"], 4>])
    parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
