// An exact sum has the same integers at each level and in each order: those
// that Python computes with fractions. Numbers of all magnitudes including
// subnormals, infinities and NaN, with one address and with one per column.
// DEFINE: %{level} = tile
// DEFINE: %{run} = fovea-run %s --level=%{level} --target=sm_80 --inputs %t.x.npy --outputs %t.all.npy %t.columns.npy
// DEFINE: %{check} = %python %S/../Inputs/exact_sums.py check %t | FileCheck %s
// RUN: %python %S/../Inputs/exact_sums.py make %t
// RUN: %{run}
// RUN: %{check}
// REDEFINE: %{level} = warp
// RUN: %{run} --seeds=3
// RUN: %{check}
// REDEFINE: %{level} = ptx
// RUN: %{run}
// RUN: %{check}
// CHECK:      each right
// CHECK-NEXT: columns of small integers right

!full = tensor<32x16xf32, #tile.reg>
!places = tensor<32x16xi32, #tile.reg>
!flags = tensor<32x16xi1, #tile.reg>
!row = tensor<1x16xi32, #tile.reg>
gpu.module @m {
  gpu.func @f(%x: memref<2x32x16xf32>, %each: memref<33x512xi64>, %columns: memref<33x16xi64>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %sixteen = arith.constant dense<16> : tensor<32x1xi32, #tile.reg>
    %r = tile.iota dim 0 : tensor<32x1xi32, #tile.reg>
    %c = tile.iota dim 1 : !row
    %first = arith.muli %r, %sixteen : tensor<32x1xi32, #tile.reg>
    %wide_r = tile.broadcast %first : tensor<32x1xi32, #tile.reg> to !places
    %wide_c = tile.broadcast %c : !row to !places
    %place = arith.addi %wide_r, %wide_c : !places
    %v = tile.load %x[%c0, %c0, %c0] dims [1, 2] : memref<2x32x16xf32> to !full
    tile.scatter add exact %v, %each[%place] : !full, memref<33x512xi64>[!places]
    %w = tile.load %x[%c1, %c0, %c0] dims [1, 2] : memref<2x32x16xf32> to !full
    tile.scatter add exact %w, %columns[%c] : !full, memref<33x16xi64>[!row]
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, warps = 2, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<2x32x16xf32>, ["N", "A", "B"], 4>, #launch.tensor<"each", accumulate, tensor<33x512xi64>, ["K", "C"], 8>,
             #launch.tensor<"columns", accumulate, tensor<33x16xi64>, ["K", "B"], 8>])
    parameters([#launch.memref<"x", [0, 1, 2]>, #launch.memref<"each", [0, 1]>, #launch.memref<"columns", [0, 1]>])
    grid([] affine_map<() -> (2)>) threads(64) shared_memory(0)
}
