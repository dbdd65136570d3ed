// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-masked-loops)))' | FileCheck %s

// The induction variable of a pipelined loop is one step ahead of the queried block: the loop is
// split one step later.
// CHECK-LABEL: gpu.func @ahead(
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index
// CHECK: %[[UPPER:.*]] = arith.maxsi
// CHECK: %[[A:.*]] = arith.addi %[[FIRST]], %c1
// CHECK: %[[CLIPPED:.*]] = arith.minsi %[[A]], %[[UPPER]]
// CHECK: arith.subi %[[CLIPPED]], %c1
// CHECK: %[[MIDDLE:.*]] = arith.addi %c1
// CHECK: %[[B:.*]] = arith.addi %[[END]], %c1
// CHECK: arith.minsi %[[B]], %[[UPPER]]
// CHECK: scf.for %[[I:.*]] = %c1
// CHECK-NEXT: %true
// CHECK: arith.subi %[[I]], %c1
// CHECK: scf.if %true
// CHECK: scf.for %{{.*}} = %[[MIDDLE]] to
// CHECK: scf.if %false
// CHECK: scf.for
// CHECK: scf.if %true
// CHECK-NOT: scf.for
gpu.module @m {
  gpu.func @ahead(%first: index, %end: index, %blocks: index, %x: f32) kernel {
    %c1 = arith.constant 1 : index
    %n = arith.maxsi %blocks, %c1 : index
    %r = scf.for %i = %c1 to %n step %c1 iter_args(%acc = %x) -> (f32) {
      %block = arith.subi %i, %c1 : index
      %partial = tile.is_partial %block below %first from %end
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

  // The subtracted value varies in the loop: the distance is unknown.
  // CHECK-LABEL: gpu.func @unknown
  // CHECK: scf.for
  // CHECK-NOT: scf.for
  gpu.func @unknown(%first: index, %blocks: index, %x: f32) kernel {
    %c1 = arith.constant 1 : index
    %n = arith.maxsi %blocks, %c1 : index
    %r = scf.for %i = %c1 to %n step %c1 iter_args(%acc = %x) -> (f32) {
      %half = arith.divui %i, %n : index
      %block = arith.subi %i, %half : index
      %partial = tile.is_partial %block below %first
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
