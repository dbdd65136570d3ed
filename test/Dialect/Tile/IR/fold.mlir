// RUN: fovea-opt %s --canonicalize | FileCheck %s

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>

// A constant's broadcast is a constant, which other folders then see through.
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
