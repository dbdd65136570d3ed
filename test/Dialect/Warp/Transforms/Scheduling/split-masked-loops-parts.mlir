// Parts of the loop without iterations are not created.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-masked-loops)))' --split-input-file | FileCheck %s

// No iteration is below 1: one loop remains.
// CHECK-LABEL: gpu.func @none
// CHECK-SAME: %[[N:.*]]: index, %[[X:.*]]: f32
// CHECK: %[[R:.*]] = scf.for %{{.*}} = %c1 to %[[N]] step %c1 iter_args(%{{.*}} = %[[X]])
// CHECK: scf.if %false
// CHECK-NOT: scf.for
// CHECK: arith.mulf %[[R]], %[[R]]
gpu.module @m {
  gpu.func @none(%n: index, %x: f32) kernel {
    %c1 = arith.constant 1 : index
    %r = scf.for %i = %c1 to %n step %c1 iter_args(%acc = %x) -> (f32) {
      %partial = tile.is_partial %i below %c1
      %s = scf.if %partial -> (f32) {
        %masked = arith.addf %acc, %x : f32
        scf.yield %masked : f32
      } else {
        scf.yield %acc : f32
      }
      scf.yield %s : f32
    }
    %use = arith.mulf %r, %r : f32
    gpu.return
  }
}

// -----

// Without a first part.
// CHECK-LABEL: gpu.func @above
// CHECK-SAME: %[[LO:.*]]: index, %[[N:.*]]: index, %[[B:.*]]: index, %[[X:.*]]: f32
// CHECK: %[[LAST:.*]] = arith.addi %[[LO]], %
// CHECK: %[[END:.*]] = arith.minsi %[[LAST]], %[[N]]
// CHECK: scf.for %{{.*}} = %[[LO]] to %[[END]] step
// CHECK: scf.if %false
// CHECK: scf.for %{{.*}} = %[[LAST]] to %[[N]] step
// CHECK: scf.if %true
// CHECK-NOT: scf.for
gpu.module @m {
  gpu.func @above(%lo: index, %n: index, %b: index, %x: f32) kernel {
    %c32 = arith.constant 32 : index
    %r = scf.for %i = %lo to %n step %c32 iter_args(%acc = %x) -> (f32) {
      %partial = tile.is_partial %i from %b
      %s = scf.if %partial -> (f32) {
        %masked = arith.addf %acc, %x : f32
        scf.yield %masked : f32
      } else {
        scf.yield %acc : f32
      }
      scf.yield %s : f32
    }
    %use = arith.mulf %r, %r : f32
    gpu.return
  }
}
