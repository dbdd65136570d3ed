// Groups of 3, 4, 1 and 2 blocks: ten in all, in three shares of 4, 3 and 3. A CTA writes the number
// of blocks, its share, the group of its first block and the blocks before that group. The CTA that
// arrives last adds 1 to the sixth number.
// RUN: %python %S/../Inputs/npy.py write %t.extents.npy i32 "[3, 4, 1, 2]"
// RUN: fovea-run %s --inputs %t.extents.npy --outputs %t.shares.npy
// RUN: %python %S/../Inputs/npy.py print %t.shares.npy | FileCheck %s
// RUN: fovea-run %s --level=ptx --target=sm_80 --inputs %t.extents.npy --outputs %t.shares.npy
// RUN: %python %S/../Inputs/npy.py print %t.shares.npy | FileCheck %s --check-prefix=ANY
// CHECK: shape 3 16
// CHECK-NEXT: {{^}}10 0 4 0 0 0
// CHECK-NEXT: {{^}}10 4 7 1 3 0
// CHECK-NEXT: {{^}}10 7 10 2 7 1
// ANY: shape 3 16
// ANY-NEXT: {{^}}10 0 4 0 0 {{[01]}}
// ANY-NEXT: {{^}}10 4 7 1 3 {{[01]}}
// ANY-NEXT: {{^}}10 7 10 2 7 {{[01]}}

// RUN: sed 's/take_share %%cta of/take_share %%c16 of/' %s > %t.wrong.mlir
// RUN: not fovea-run %t.wrong.mlir --inputs %t.extents.npy --outputs %t.shares.npy 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: share must be below the number of shares, found 16 of 3

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1>)
    tensors([#launch.tensor<"extents", read, tensor<?xi32>, ["N"], 4>, #launch.tensor<"shares", write, tensor<3x16xi32>, ["I", "J"], 4>])
    parameters([#launch.memref<"extents", [0]>, #launch.memref<"shares", [0, 1]>, #launch.workspace_memref])
    grid([] affine_map<() -> (3)>) threads(32) shared_memory(0)
  gpu.func @f(%extents: memref<?xi32>, %shares: memref<3x16xi32>, %counters: memref<8xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c16 = arith.constant 16 : index
    %cta = gpu.block_id x
    %n = memref.dim %extents, %c0 : memref<?xi32>
    %total, %first, %end, %group, %before = tile.take_share %cta of %c3 over %n
      blocks(%i: index) {
        %extent = memref.load %extents[%i] : memref<?xi32>
        %blocks = arith.index_cast %extent : i32 to index
        tile.yield %blocks : index
      }
    %last = tile.arrive %counters[%c1] of %c3 : memref<8xi32>
    %flag = arith.index_castui %last : i1 to index
    %zero = arith.constant dense<0> : tensor<1x16xi32, #tile.reg>
    %column = tile.iota dim 1 : tensor<1x16xi32, #tile.reg>
    %i0 = arith.index_cast %total : index to i32
    %t0 = tile.broadcast %i0 : i32 to tensor<1x16xi32, #tile.reg>
    %k0 = arith.constant dense<0> : tensor<1x16xi32, #tile.reg>
    %is0 = arith.cmpi eq, %column, %k0 : tensor<1x16xi32, #tile.reg>
    %sum0 = arith.select %is0, %t0, %zero : tensor<1x16xi1, #tile.reg>, tensor<1x16xi32, #tile.reg>
    %i1 = arith.index_cast %first : index to i32
    %t1 = tile.broadcast %i1 : i32 to tensor<1x16xi32, #tile.reg>
    %k1 = arith.constant dense<1> : tensor<1x16xi32, #tile.reg>
    %is1 = arith.cmpi eq, %column, %k1 : tensor<1x16xi32, #tile.reg>
    %sum1 = arith.select %is1, %t1, %sum0 : tensor<1x16xi1, #tile.reg>, tensor<1x16xi32, #tile.reg>
    %i2 = arith.index_cast %end : index to i32
    %t2 = tile.broadcast %i2 : i32 to tensor<1x16xi32, #tile.reg>
    %k2 = arith.constant dense<2> : tensor<1x16xi32, #tile.reg>
    %is2 = arith.cmpi eq, %column, %k2 : tensor<1x16xi32, #tile.reg>
    %sum2 = arith.select %is2, %t2, %sum1 : tensor<1x16xi1, #tile.reg>, tensor<1x16xi32, #tile.reg>
    %i3 = arith.index_cast %group : index to i32
    %t3 = tile.broadcast %i3 : i32 to tensor<1x16xi32, #tile.reg>
    %k3 = arith.constant dense<3> : tensor<1x16xi32, #tile.reg>
    %is3 = arith.cmpi eq, %column, %k3 : tensor<1x16xi32, #tile.reg>
    %sum3 = arith.select %is3, %t3, %sum2 : tensor<1x16xi1, #tile.reg>, tensor<1x16xi32, #tile.reg>
    %i4 = arith.index_cast %before : index to i32
    %t4 = tile.broadcast %i4 : i32 to tensor<1x16xi32, #tile.reg>
    %k4 = arith.constant dense<4> : tensor<1x16xi32, #tile.reg>
    %is4 = arith.cmpi eq, %column, %k4 : tensor<1x16xi32, #tile.reg>
    %sum4 = arith.select %is4, %t4, %sum3 : tensor<1x16xi1, #tile.reg>, tensor<1x16xi32, #tile.reg>
    %i5 = arith.index_cast %flag : index to i32
    %t5 = tile.broadcast %i5 : i32 to tensor<1x16xi32, #tile.reg>
    %k5 = arith.constant dense<5> : tensor<1x16xi32, #tile.reg>
    %is5 = arith.cmpi eq, %column, %k5 : tensor<1x16xi32, #tile.reg>
    %sum5 = arith.select %is5, %t5, %sum4 : tensor<1x16xi1, #tile.reg>, tensor<1x16xi32, #tile.reg>
    tile.store %sum5, %shares[%cta, %c0] dims [-1, 1] : tensor<1x16xi32, #tile.reg>, memref<3x16xi32>
    gpu.return
  }
}
