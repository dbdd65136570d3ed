// A constant that is both an initial value and used in the body does not change in the body.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-masked-loops)))' | FileCheck %s

gpu.module @m {
  // CHECK-LABEL: gpu.func @shared_constant
  gpu.func @shared_constant(%n: index, %a: index, %out: memref<f32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[ZERO:.*]] = arith.constant 0.0
    %zero = arith.constant 0.0 : f32
    // CHECK: scf.for
    // CHECK: arith.addf %{{.*}}, %[[ZERO]]
    // CHECK: scf.for
    // CHECK: arith.addf %{{.*}}, %[[ZERO]]
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero) -> (f32) {
      %partial = tile.is_partial %i below %a
      %y = scf.if %partial -> (f32) {
        %m = arith.negf %x : f32
        scf.yield %m : f32
      } else {
        scf.yield %x : f32
      }
      %z = arith.addf %y, %zero : f32
      scf.yield %z : f32
    }
    memref.store %r, %out[] : memref<f32>
    gpu.return
  }
}
