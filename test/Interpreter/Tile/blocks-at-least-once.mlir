// The blocks that a loop executes, in order, and which are partial: a list of
// their first elements, plus 1000 if partial. At the tile level and as scf.
// RUN: fovea-run %s --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-blocks)))' -o %t.scf.mlir
// RUN: FileCheck %s --check-prefix=SCF --input-file=%t.scf.mlir
// RUN: fovea-run %t.scf.mlir --outputs %t.scf.npy
// RUN: %python %S/../Inputs/npy.py print %t.scf.npy | FileCheck %s
// SCF-NOT: tile.for_blocks

// From 16 to 80, full from 32 to 64; then all full, where the first block is
// partial nevertheless; then a range without a block.
// CHECK: 1016 32 48 1064 1016 32 1048

!one = tensor<1x1xf32, #tile.reg>
gpu.module @m {
  gpu.func @f(%o: memref<7xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c48 = arith.constant 48 : index
    %c64 = arith.constant 64 : index
    %c80 = arith.constant 80 : index
    %c1000 = arith.constant 1000 : index
    %n0 = tile.for_blocks %c16 to %c80 step 16 at_least_once full(%c32, %c64) carry(%c0 : index)
      do(%j: index, %partial: i1, %at: index) {
        %mark = arith.select %partial, %c1000, %c0 : index
        %sum = arith.addi %j, %mark : index
        %int = arith.index_cast %sum : index to i32
        %number = arith.sitofp %int : i32 to f32
        %tile = tile.broadcast %number : f32 to !one
        tile.store %tile, %o[%at] dims [0, -1] : !one, memref<7xf32>
        %next = arith.addi %at, %c1 : index
        tile.yield %next : index
      }
    %n1 = tile.for_blocks %c16 to %c48 step 16 at_least_once full(%c16, %c48) carry(%n0 : index)
      do(%j: index, %partial: i1, %at: index) {
        %mark = arith.select %partial, %c1000, %c0 : index
        %sum = arith.addi %j, %mark : index
        %int = arith.index_cast %sum : index to i32
        %number = arith.sitofp %int : i32 to f32
        %tile = tile.broadcast %number : f32 to !one
        tile.store %tile, %o[%at] dims [0, -1] : !one, memref<7xf32>
        %next = arith.addi %at, %c1 : index
        tile.yield %next : index
      }
    %n2 = tile.for_blocks %c48 to %c16 step 16 at_least_once full(%c48, %c48) carry(%n1 : index)
      do(%j: index, %partial: i1, %at: index) {
        %mark = arith.select %partial, %c1000, %c0 : index
        %sum = arith.addi %j, %mark : index
        %int = arith.index_cast %sum : index to i32
        %number = arith.sitofp %int : i32 to f32
        %tile = tile.broadcast %number : f32 to !one
        tile.store %tile, %o[%at] dims [0, -1] : !one, memref<7xf32>
        %next = arith.addi %at, %c1 : index
        tile.yield %next : index
      }
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<7xf32>, ["A"], 4>])
    parameters([#launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
