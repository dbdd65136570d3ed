// RUN: fovea-opt %s | fovea-opt | FileCheck %s

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
!values = tensor<64x32xbf16, #tile.reg>

// CHECK-LABEL: func.func @plain
// CHECK:      tile.softmax_sum blocks %arg0 masked(%arg1) step 64 scale(1.250000e-01)
// CHECK-NEXT:   visit(%[[N:.*]]: index) {
// CHECK-NEXT:     tile.yield %[[N]] : index
// CHECK:        scores(
func.func @plain(%count: index, %masked: index, %s: !full, %v: !values) {
  %m, %l, %acc = tile.softmax_sum blocks %count masked(%masked) step 64 scale(0.125)
    visit(%n: index) {
      tile.yield %n : index
    }
    scores(%j: index, %partial: i1) {
      tile.yield %s : !full
    }
    values(%j: index) {
      tile.yield %v : !values
    } : !row, !acc
  return
}

// CHECK-LABEL: func.func @carried
// CHECK:      tile.softmax_sum blocks %arg0 masked(%arg1) init(%arg2, %arg0 : i32, index) step 64 scale(1.000000e+00)
// CHECK-NEXT:   visit(%[[N:.*]]: index, %[[W:.*]]: i32, %[[K:.*]]: index) {
// CHECK-NEXT:     tile.yield %[[K]], %[[W]], %[[N]] : index, i32, index
func.func @carried(%count: index, %masked: index, %word: i32, %s: !full, %v: !values) {
  %m, %l, %acc = tile.softmax_sum blocks %count masked(%masked) init(%word, %count : i32, index) step 64 scale(1.0)
    visit(%n: index, %w: i32, %k: index) {
      tile.yield %k, %w, %n : index, i32, index
    }
    scores(%j: index, %partial: i1) {
      tile.yield %s : !full
    }
    values(%j: index) {
      tile.yield %v : !values
    } : !row, !acc
  return
}
