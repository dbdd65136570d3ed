// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-prefetch-scalars)))' | FileCheck %s

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
}
