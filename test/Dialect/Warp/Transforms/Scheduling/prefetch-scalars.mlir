// Loads of scalars move one iteration ahead.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-prefetch-scalars)))' --split-input-file | FileCheck %s

gpu.module @m {
  // In a branch: the condition is carried with the value, and the next load follows the dot that is
  // issued in between.
  // CHECK-LABEL: gpu.func @branch
  // CHECK-SAME: %[[TABLE:[a-z0-9]+]]: memref<?xf32>, %[[END:[a-z0-9]+]]: index, %[[FIRST:[a-z0-9]+]]: index
  // CHECK-DAG: %[[NONE:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[AT:.*]] = arith.addi %c1{{.*}}, %[[FIRST]]
  // CHECK-DAG: %[[SAME:.*]] = arith.cmpi slt, %[[AT]], %[[END]]
  // CHECK-DAG: %[[EXISTS:.*]] = arith.cmpi slt, %c1{{.*}}, %[[END]]
  // CHECK: %[[READS:.*]] = arith.andi %[[EXISTS]], %[[SAME]]
  // CHECK: %[[VALUE:.*]] = scf.if %[[READS]] -> (f32) {
  // CHECK: memref.load %[[TABLE]][%[[AT]]]
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[NONE]]
  // CHECK: scf.for %[[IV:.*]] = %c1{{.*}} to %[[END]] step %[[STEP:.*]] iter_args(%[[ACC:.*]] = %{{.*}}, %[[SAME_NOW:.*]] = %[[SAME]], %[[NOW:.*]] = %[[VALUE]])
  // CHECK: %[[INIT:.*]] = scf.if %[[SAME_NOW]]
  // CHECK-NEXT: tile.broadcast %[[NOW]]
  // CHECK: %[[DOT:.*]] = warp.dot async %{{.*}}, %{{.*}}, %[[INIT]]
  // CHECK-DAG: %[[NEXT:.*]] = arith.addi %[[IV]], %[[STEP]]
  // CHECK-DAG: %[[AT2:.*]] = arith.addi %[[NEXT]], %[[FIRST]]
  // CHECK-DAG: %[[SAME2:.*]] = arith.cmpi slt, %[[AT2]], %[[END]]
  // CHECK-DAG: %[[EXISTS2:.*]] = arith.cmpi slt, %[[NEXT]], %[[END]]
  // CHECK: %[[READS2:.*]] = arith.andi %[[EXISTS2]], %[[SAME2]]
  // CHECK: %[[LATER:.*]] = scf.if %[[READS2]]
  // CHECK: memref.load %[[TABLE]][%[[AT2]]]
  // CHECK: warp.dot_wait %[[DOT]]
  // CHECK: scf.yield %{{.*}}, %[[SAME2]], %[[LATER]]
  gpu.func @branch(%table: memref<?xf32>, %end: index, %first: index) kernel {
    %c1 = arith.constant 1 : index
    %a = warp.alloc : memref<64x16xbf16, #warp.shared<row_bytes = 32>>
    %b = warp.alloc : memref<64x16xbf16, #warp.shared<row_bytes = 32>>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #warp.wgmma<groups = 1>>
    %r = scf.for %iv = %c1 to %end step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32, #warp.wgmma<groups = 1>>) {
      %at = arith.addi %iv, %first : index
      %same = arith.cmpi slt, %at, %end : index
      %init = scf.if %same -> (tensor<64x64xf32, #warp.wgmma<groups = 1>>) {
        %value = memref.load %table[%at] : memref<?xf32>
        %tile = tile.broadcast %value : f32 to tensor<64x64xf32, #warp.wgmma<groups = 1>>
        scf.yield %tile : tensor<64x64xf32, #warp.wgmma<groups = 1>>
      } else {
        scf.yield %zero : tensor<64x64xf32, #warp.wgmma<groups = 1>>
      }
      %dot = warp.dot async %a, %b, %init transpose_b : memref<64x16xbf16, #warp.shared<row_bytes = 32>>, memref<64x16xbf16, #warp.shared<row_bytes = 32>>, tensor<64x64xf32, #warp.wgmma<groups = 1>>
      %s = warp.dot_wait %dot : !warp.pending<tensor<64x64xf32, #warp.wgmma<groups = 1>>>
      %sum = arith.addf %acc, %s : tensor<64x64xf32, #warp.wgmma<groups = 1>>
      scf.yield %sum : tensor<64x64xf32, #warp.wgmma<groups = 1>>
    }
    gpu.return
  }

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
