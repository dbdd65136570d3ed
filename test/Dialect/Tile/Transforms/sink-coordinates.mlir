// RUN: fovea-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-sink-coordinates)))' | FileCheck %s

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
gpu.module @kernels {
  // The broadcast moves into the loop, before the first of its two uses.
  // CHECK-LABEL: gpu.func @broadcast
  // CHECK-SAME:    %[[ROW:.*]]: tensor<16x1xf32, #tile.reg>
  gpu.func @broadcast(%row: !row, %init: !full, %lb: index, %ub: index, %step: index, %O: memref<16x64xf32>) {
    // CHECK-NOT: tile.broadcast
    %w = tile.broadcast %row : !row to !full
    // CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %
    %r = scf.for %j = %lb to %ub step %step iter_args(%x = %init) -> !full {
      // CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]]
      // CHECK-NEXT: %[[W:.*]] = tile.broadcast %[[ROW]]
      // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[SQUARE]], %[[W]]
      // CHECK-NEXT: arith.subf %[[SUM]], %[[W]]
      %a = arith.mulf %x, %x : !full
      %b = arith.addf %a, %w : !full
      %c = arith.subf %b, %w : !full
      scf.yield %c : !full
    }
    %c0 = arith.constant 0 : index
    tile.store %r, %O[%c0, %c0] dims [0, 1] : !full, memref<16x64xf32>
    gpu.return
  }
}

// -----

!row = tensor<16x1xi32, #tile.reg>
gpu.module @kernels {
  // A chain of coordinates is cloned into each block that uses it; the scalar and the
  // product stay.
  // CHECK-LABEL: gpu.func @chain
  // CHECK-SAME:    %[[BASE:[a-z0-9]+]]: i32, %[[COND:[a-z0-9]+]]: i1
  gpu.func @chain(%base: i32, %cond: i1, %O: memref<16x1xi32>) {
    // CHECK:      %[[TWO:.*]] = arith.constant dense<2>
    // CHECK-NEXT: %[[IOTA:.*]] = tile.iota dim 0
    // CHECK-NEXT: %[[PRODUCT:.*]] = arith.muli %[[IOTA]], %[[TWO]]
    %c0 = arith.constant 0 : index
    %iota = tile.iota dim 0 : !row
    %two = arith.constant dense<2> : !row
    %product = arith.muli %iota, %two : !row
    %offset = tile.broadcast %base : i32 to !row
    %i = arith.addi %iota, %offset : !row
    // CHECK: scf.if %[[COND]]
    scf.if %cond {
      // CHECK-DAG:  %[[IOTA1:.*]] = tile.iota dim 0
      // CHECK-DAG:  %[[OFFSET1:.*]] = tile.broadcast %[[BASE]] : i32
      // CHECK:      %[[I1:.*]] = arith.addi %[[IOTA1]], %[[OFFSET1]]
      // CHECK-NEXT: arith.maxsi %[[I1]], %[[PRODUCT]]
      %x = arith.maxsi %i, %product : !row
      tile.store %x, %O[%c0, %c0] dims [0, 1] : !row, memref<16x1xi32>
    } else {
      // CHECK:      else
      // CHECK-DAG:  %[[IOTA2:.*]] = tile.iota dim 0
      // CHECK-DAG:  %[[OFFSET2:.*]] = tile.broadcast %[[BASE]] : i32
      // CHECK:      %[[I2:.*]] = arith.addi %[[IOTA2]], %[[OFFSET2]]
      // CHECK-NEXT: tile.store %[[I2]]
      tile.store %i, %O[%c0, %c0] dims [0, 1] : !row, memref<16x1xi32>
    }
    gpu.return
  }
}

// -----

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
gpu.module @kernels {
  // Expensive ops stay; unused ops are erased.
  // CHECK-LABEL: gpu.func @stays
  gpu.func @stays(%S: memref<16x64xf32>, %O: memref<16x1xf32>, %lb: index, %ub: index, %step: index) {
    // CHECK-NOT: tile.iota
    // CHECK:     tile.load
    // CHECK:     tile.reduce
    // CHECK:     scf.for
    // CHECK-NEXT: tile.store
    %c0 = arith.constant 0 : index
    %unused = tile.iota dim 0 : tensor<16x1xi32, #tile.reg>
    %s = tile.load %S[%c0, %c0] dims [0, 1] : memref<16x64xf32> to !full
    %m = tile.reduce max dim 1 %s : !full to !row
    scf.for %j = %lb to %ub step %step {
      tile.store %m, %O[%c0, %c0] dims [0, 1] : !row, memref<16x1xf32>
    }
    gpu.return
  }
}
