// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-masked-loops)))' --split-input-file | FileCheck %s

// One bound gives two loops; the first ends at a constant that the loop reaches.
// CHECK-LABEL: gpu.func @below
// CHECK: %[[N:.*]] = arith.maxsi
// CHECK: %[[R1:.*]] = scf.for %{{.*}} = %c0 to %[[ONE:.*]] step %c1 iter_args
// CHECK: scf.if %true
// CHECK: %[[R2:.*]] = scf.for %{{.*}} = %[[ONE]] to %[[N]] step %c1 iter_args(%{{.*}} = %[[R1]])
// CHECK: scf.if %false
// CHECK-NOT: scf.for
// CHECK: arith.mulf %[[R2]], %[[R2]]
gpu.module @m {
  gpu.func @below(%blocks: index, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.maxsi %blocks, %c1 : index
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (f32) {
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
