// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-prefetch-scalars)))' | FileCheck %s

gpu.module @m {
  // Nothing moves: an address from the previous iteration, one that may trap, an invariant one, a
  // load two branches deep, and shared memory.
  // CHECK-LABEL: gpu.func @stays
  // CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (index, f32)
  // CHECK-COUNT-5: memref.load
  // CHECK-NOT: memref.load
  gpu.func @stays(%table: memref<?xf32>, %end: index, %n: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %buffer = warp.alloc : memref<64x16xf32, #warp.shared<row_bytes = 64>>
    %r:2 = scf.for %iv = %c0 to %end step %c1 iter_args(%at = %c0, %acc = %zero) -> (index, f32) {
      %a = memref.load %table[%at] : memref<?xf32>
      %part = arith.divui %iv, %n : index
      %b = memref.load %table[%part] : memref<?xf32>
      %d = memref.load %table[%n] : memref<?xf32>
      %e = scf.if %c -> (f32) {
        %inner = scf.if %c -> (f32) {
          %deep = memref.load %table[%iv] : memref<?xf32>
          scf.yield %deep : f32
        } else {
          scf.yield %zero : f32
        }
        scf.yield %inner : f32
      } else {
        scf.yield %zero : f32
      }
      %f = memref.load %buffer[%iv, %c0] : memref<64x16xf32, #warp.shared<row_bytes = 64>>
      %ab = arith.addf %a, %b : f32
      %de = arith.addf %d, %e : f32
      %abde = arith.addf %ab, %de : f32
      %abdef = arith.addf %abde, %f : f32
      %sum = arith.addf %acc, %abdef : f32
      %next = arith.addi %at, %part : index
      scf.yield %next, %sum : index, f32
    }
    gpu.return
  }

  // The loop may write the memory that it loads next.
  // CHECK-LABEL: gpu.func @writes
  // CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: memref.store
  gpu.func @writes(%table: memref<?xf32>, %out: memref<?xf32>, %end: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %iv = %c0 to %end step %c1 {
      %a = memref.load %table[%iv] : memref<?xf32>
      memref.store %a, %out[%iv] : memref<?xf32>
    }
    gpu.return
  }
}
