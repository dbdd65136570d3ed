// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-prefetch-scalars)))' | FileCheck %s

gpu.module @m {
  // Loads in the body, and in the else branch of a condition on integers. The address of the second
  // one may repeat; then its previous value is kept.
  // CHECK-LABEL: gpu.func @others
  // CHECK: %[[NOWHERE:.*]] = arith.constant -1 : index
  // CHECK: %[[FIRST:.*]] = scf.if
  // CHECK: %[[NOT:.*]] = arith.xori %{{.*}}, %true
  // CHECK: arith.andi %{{.*}}, %[[NOT]]
  // CHECK: arith.cmpi ne, %[[PLACE0:.*]], %[[NOWHERE]]
  // CHECK: %[[SECOND:.*]]:2 = scf.if
  // CHECK: scf.yield %{{.*}}, %[[PLACE0]]
  // CHECK: scf.yield %{{.*}}, %[[NOWHERE]]
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[A:.*]] = %[[FIRST]], %[[B:.*]] = %[[SECOND]]#0, %[[AT:.*]] = %[[SECOND]]#1) -> (i32, i1, i32, i32, index)
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[B]]
  // CHECK: memref.load
  // CHECK: %[[MOVES:.*]] = arith.cmpi ne, %[[PLACE:.*]], %[[AT]]
  // CHECK: %[[READS:.*]] = arith.andi %{{.*}}, %[[MOVES]]
  // CHECK: %[[LATER:.*]]:2 = scf.if %[[READS]]
  // CHECK-NEXT: %[[VALUE:.*]] = memref.load %{{.*}}[%[[PLACE]]]
  // CHECK-NEXT: scf.yield %[[VALUE]], %[[PLACE]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield %[[B]], %[[AT]]
  // CHECK: arith.addi %{{.*}}, %[[A]]
  // CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[LATER]]#0, %[[LATER]]#1
  gpu.func @others(%table: memref<?xi32>, %end: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %r = scf.for %iv = %c0 to %end step %c1 iter_args(%acc = %zero) -> (i32) {
      %first = memref.load %table[%iv] : memref<?xi32>
      %odd = arith.andi %iv, %c1 : index
      %even = arith.cmpi eq, %odd, %c0 : index
      %second = scf.if %even -> (i32) {
        scf.yield %zero : i32
      } else {
        %value = memref.load %table[%odd] : memref<?xi32>
        scf.yield %value : i32
      }
      %sum = arith.addi %acc, %first : i32
      %both = arith.addi %sum, %second : i32
      scf.yield %both : i32
    }
    gpu.return
  }
}
