// Loops that are not split.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-masked-loops)))' | FileCheck %s

gpu.module @m {
  // A comparison is not `is_partial`: the loop is not split.
  // CHECK-LABEL: gpu.func @comparison
  // CHECK-COUNT-1: scf.for
  // CHECK-NOT: scf.for
  gpu.func @comparison(%lo: index, %hi: index, %a: index, %b: index, %x: f32) kernel {
    %c32 = arith.constant 32 : index
    %r = scf.for %j = %lo to %hi step %c32 iter_args(%acc = %x) -> (f32) {
      %partial = arith.cmpi slt, %j, %a : index
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

  // Bounds that vary in the loop: it is not split.
  // CHECK-LABEL: gpu.func @varying
  // CHECK-COUNT-1: scf.for
  // CHECK-NOT: scf.for
  gpu.func @varying(%lo: index, %hi: index, %a: index, %b: index, %x: f32) kernel {
    %c32 = arith.constant 32 : index
    %r = scf.for %j = %lo to %hi step %c32 iter_args(%acc = %x) -> (f32) {
      %moving = arith.addi %j, %a : index
      %partial = tile.is_partial %j below %moving from %b
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

  // No branch uses it: the loop is not split.
  // CHECK-LABEL: gpu.func @unused
  // CHECK-COUNT-1: scf.for
  // CHECK-NOT: scf.for
  gpu.func @unused(%lo: index, %hi: index, %a: index, %b: index, %x: f32, %flag: i1) kernel {
    %c32 = arith.constant 32 : index
    %r = scf.for %j = %lo to %hi step %c32 iter_args(%acc = %x) -> (f32) {
      %partial = tile.is_partial %j below %a from %b
      %s = scf.if %flag -> (f32) {
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
