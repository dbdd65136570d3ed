// RUN: fovea-opt %s --canonicalize | FileCheck %s

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>

// A broadcast of a constant is a constant, which other folders can use.
// CHECK-LABEL: func @constants
// CHECK-SAME:    %[[X:.*]]: tensor<16x64xf32, #tile.reg>
func.func @constants(%x: !full) -> (!full, !full, tensor<16x64xi1, #tile.reg>) {
  // CHECK-NOT: tile.broadcast
  // CHECK-DAG: %[[THREE:.*]] = arith.constant dense<3.000000e+00> : tensor<16x64xf32, #tile.reg>
  // CHECK-DAG: %[[TRUE:.*]] = arith.constant dense<true> : tensor<16x64xi1, #tile.reg>
  // CHECK:     return %[[X]], %[[THREE]], %[[TRUE]]
  %zero = arith.constant -0.0 : f32
  %z = tile.broadcast %zero : f32 to !full
  %sum = arith.addf %x, %z : !full
  %three = arith.constant dense<3.0> : !row
  %t = tile.broadcast %three : !row to !full
  %true = arith.constant true
  %b = tile.broadcast %true : i1 to tensor<16x64xi1, #tile.reg>
  return %sum, %t, %b : !full, !full, tensor<16x64xi1, #tile.reg>
}

// CHECK-LABEL: func @same_type
// CHECK-SAME:    %[[X:.*]]: tensor<16x1xf32, #tile.reg>
// CHECK-NEXT:  return %[[X]]
func.func @same_type(%x: !row) -> !row {
  %y = tile.broadcast %x : !row to !row
  return %y : !row
}

// CHECK-LABEL: func @twice
// CHECK-SAME:    %[[X:.*]]: f32
// CHECK-NEXT:  %[[Y:.*]] = tile.broadcast %[[X]] : f32 to tensor<16x64xf32, #tile.reg>
// CHECK-NEXT:  return %[[Y]]
func.func @twice(%x: f32) -> !full {
  %row = tile.broadcast %x : f32 to !row
  %y = tile.broadcast %row : !row to !full
  return %y : !full
}

// One bound may determine the result; otherwise all must be known.
// CHECK-LABEL: func @is_partial
// CHECK-SAME: %[[N:.*]]: index
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK-DAG: %[[FALSE:.*]] = arith.constant false
// CHECK-DAG: %[[OPEN:.*]] = tile.is_partial %{{.*}} below %{{.*}} from %[[N]]
// CHECK: return %[[TRUE]], %[[TRUE]], %[[FALSE]], %[[OPEN]]
func.func @is_partial(%n: index) -> (i1, i1, i1, i1) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %below = tile.is_partial %c1 below %c2 from %n
  %behind = tile.is_partial %c2 below %n from %c2
  %full = tile.is_partial %c2 below %c2 from %c3
  %open = tile.is_partial %c2 below %c1 from %n
  return %below, %behind, %full, %open : i1, i1, i1, i1
}
