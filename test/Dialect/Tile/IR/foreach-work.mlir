// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --loop-invariant-code-motion | FileCheck %s --check-prefix=LICM

// CHECK-LABEL: func @f
// CHECK: tile.foreach_work %[[W:.*]] to %{{.*}} schedule(dynamic) {
// CHECK-NEXT: %[[ROW:.*]] = arith.muli %[[W]], %[[W]]
// CHECK-NEXT: %[[TWICE:.*]] = arith.addi
// CHECK-NEXT: %[[X:.*]] = tile.load %{{.*}}[%[[ROW]], %[[TWICE]]]
// CHECK-NEXT: tile.store %[[X]]
// CHECK-NEXT: }
// CHECK: tile.foreach_work %{{.*}} to %{{.*}} schedule(static) {
// CHECK-NEXT: } {note = "x"}

// LICM-LABEL: func @f
// LICM: arith.addi
// LICM: tile.foreach_work
func.func @f(%n: index, %S: memref<?x64xf32>) {
  tile.foreach_work %w to %n schedule(dynamic) {
    %row = arith.muli %w, %w : index
    %twice = arith.addi %n, %n : index
    %x = tile.load %S[%row, %twice] dims [-1, 1] : memref<?x64xf32> to tensor<1x64xf32, #tile.reg>
    tile.store %x, %S[%row, %twice] dims [-1, 1] : tensor<1x64xf32, #tile.reg>, memref<?x64xf32>
  }
  tile.foreach_work %w to %n schedule(static) {
    tile.yield
  } {note = "x"}
  return
}
