// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-prefetch-scalars)))' | FileCheck %s

gpu.module @m {
  // Two indices: if one strictly advances, the address always changes; if both are clamped, either
  // may change.
  // CHECK-LABEL: gpu.func @indices
  // CHECK: scf.for {{.*}} -> (f32, f32, f32, index, index)
  // CHECK: %[[EXISTS:.*]] = arith.cmpi slt
  // CHECK: scf.if %[[EXISTS]] -> (f32) {
  // CHECK: %[[ROW:.*]] = arith.cmpi ne
  // CHECK: %[[COLUMN:.*]] = arith.cmpi ne
  // CHECK: %[[EITHER:.*]] = arith.ori %[[ROW]], %[[COLUMN]]
  // CHECK: %[[READS:.*]] = arith.andi %[[EXISTS]], %[[EITHER]]
  // CHECK: scf.if %[[READS]] -> (f32, index, index) {
  gpu.func @indices(%table: memref<?x?xf32>, %end: index, %last: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %r = scf.for %iv = %c0 to %end step %c1 iter_args(%acc = %zero) -> (f32) {
      %low = arith.minsi %iv, %last : index
      %high = arith.maxsi %iv, %last : index
      %first = memref.load %table[%iv, %low] : memref<?x?xf32>
      %second = memref.load %table[%low, %high] : memref<?x?xf32>
      %sum = arith.addf %first, %second : f32
      %next = arith.addf %acc, %sum : f32
      scf.yield %next : f32
    }
    gpu.return
  }
}
