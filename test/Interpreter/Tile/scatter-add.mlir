// Elements are added to the contents of memory, also if several have the same
// address; masked ones and those out of bounds are dropped. In PTX elements of
// equal address are summed first: by row, by column and for the whole tile.
// DEFINE: %{level} = tile
// DEFINE: %{run} = fovea-run %s --level=%{level} --target=sm_80 --inputs %t.x.npy --outputs %t.rows.npy %t.columns.npy %t.all.npy %t.each.npy %t.of_rows.npy
// DEFINE: %{check} = %python %S/../Inputs/scatter_sums.py %t | FileCheck %s
// RUN: %python %S/../Inputs/npy.py write %t.x.npy f32 "[[r + 40 * c + 1 for c in range(16)] for r in range(32)]"
// RUN: %{run}
// RUN: %{check}
// REDEFINE: %{level} = warp
// RUN: %{run} --seeds=3
// RUN: %{check}
// REDEFINE: %{level} = ptx
// RUN: %{run}
// RUN: %{check}
// CHECK:      rows right
// CHECK-NEXT: columns right
// CHECK-NEXT: all right
// CHECK-NEXT: each right
// CHECK-NEXT: of_rows right

!full = tensor<32x16xf32, #tile.reg>
!places = tensor<32x16xi32, #tile.reg>
!flags = tensor<32x16xi1, #tile.reg>
!column = tensor<32x1xi32, #tile.reg>
!row = tensor<1x16xi32, #tile.reg>
gpu.module @m {
  gpu.func @f(%x: memref<32x16xf32>, %rows: memref<40xf32>, %columns: memref<16xf32>, %all: memref<1xf32>,
              %each: memref<8xf32>, %of_rows: memref<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %eight = arith.constant dense<8> : !places
    %eights = arith.constant dense<8> : !column
    %ten = arith.constant dense<10> : !column
    %last = arith.constant dense<15> : !places
    %r = tile.iota dim 0 : !column
    %c = tile.iota dim 1 : !row
    %wide_r = tile.broadcast %r : !column to !places
    %wide_c = tile.broadcast %c : !row to !places
    %v = tile.load %x[%c0, %c0] dims [0, 1] : memref<32x16xf32> to !full
    %keep = arith.cmpi slt, %wide_c, %last : !places
    %later = arith.addi %r, %ten : !column
    tile.scatter add %v, %rows[%later] mask(%keep : !flags) : !full, memref<40xf32>[!column]
    tile.scatter add %v, %columns[%c] mask(%keep : !flags) : !full, memref<16xf32>[!row]
    tile.scatter add %v, %all[%c0] mask(%keep : !flags) : !full, memref<1xf32>[index]
    %sum = arith.addi %wide_r, %wide_c : !places
    %slot = arith.remui %sum, %eight : !places
    tile.scatter add %v, %each[%slot] mask(%keep : !flags) : !full, memref<8xf32>[!places]
    %first = tile.load %x[%c0, %c0] dims [0, 1] : memref<32x16xf32> to tensor<32x1xf32, #tile.reg>
    %group = arith.divui %r, %eights : !column
    tile.scatter add %first, %of_rows[%group] : tensor<32x1xf32, #tile.reg>, memref<4xf32>[!column]
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, warps = 2, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<32x16xf32>, ["A", "B"], 4>, #launch.tensor<"rows", accumulate, tensor<40xf32>, ["C"], 4>,
             #launch.tensor<"columns", accumulate, tensor<16xf32>, ["D"], 4>, #launch.tensor<"all", accumulate, tensor<1xf32>, ["E"], 4>,
             #launch.tensor<"each", accumulate, tensor<8xf32>, ["F"], 4>, #launch.tensor<"of_rows", accumulate, tensor<4xf32>, ["G"], 4>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"rows", [0]>, #launch.memref<"columns", [0]>,
                #launch.memref<"all", [0]>, #launch.memref<"each", [0]>, #launch.memref<"of_rows", [0]>])
    grid([] affine_map<() -> (2)>) threads(64) shared_memory(0)
}
