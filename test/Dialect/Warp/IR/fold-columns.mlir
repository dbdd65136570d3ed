// RUN: fovea-opt %s --canonicalize | FileCheck %s

// A concatenation of equal splats is a splat; of all columns of a tile, the tile.
// CHECK-LABEL: func @concat
// CHECK-SAME: %[[A:.*]]: tensor<64x72xf32, #tile.reg>
func.func @concat(%a: tensor<64x72xf32, #tile.reg>)
    -> (tensor<64x72xf32, #tile.reg>, tensor<64x72xf32, #tile.reg>, tensor<64x72xf32, #tile.reg>) {
  %z64 = arith.constant dense<0.0> : tensor<64x64xf32, #tile.reg>
  %z8 = arith.constant dense<0.0> : tensor<64x8xf32, #tile.reg>
  %one = arith.constant dense<1.0> : tensor<64x8xf32, #tile.reg>
  %x = warp.extract_columns %a from 0 : tensor<64x72xf32, #tile.reg> to tensor<64x64xf32, #tile.reg>
  %y = warp.extract_columns %a from 64 : tensor<64x72xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
  // CHECK-DAG: %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<64x72xf32, #tile.reg>
  %0 = warp.concat_columns %z64, %z8 : tensor<64x64xf32, #tile.reg>, tensor<64x8xf32, #tile.reg> to tensor<64x72xf32, #tile.reg>
  %1 = warp.concat_columns %x, %y : tensor<64x64xf32, #tile.reg>, tensor<64x8xf32, #tile.reg> to tensor<64x72xf32, #tile.reg>
  // CHECK: %[[MIXED:.*]] = warp.concat_columns
  %2 = warp.concat_columns %z64, %one : tensor<64x64xf32, #tile.reg>, tensor<64x8xf32, #tile.reg> to tensor<64x72xf32, #tile.reg>
  // CHECK: return %[[Z]], %[[A]], %[[MIXED]]
  return %0, %1, %2 : tensor<64x72xf32, #tile.reg>, tensor<64x72xf32, #tile.reg>, tensor<64x72xf32, #tile.reg>
}

// Parts in another order do not fold.
// CHECK-LABEL: func @turned
func.func @turned(%a: tensor<64x16xf32, #tile.reg>) -> tensor<64x16xf32, #tile.reg> {
  %x = warp.extract_columns %a from 8 : tensor<64x16xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
  %y = warp.extract_columns %a from 0 : tensor<64x16xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
  // CHECK: warp.concat_columns
  %0 = warp.concat_columns %x, %y : tensor<64x8xf32, #tile.reg>, tensor<64x8xf32, #tile.reg> to tensor<64x16xf32, #tile.reg>
  return %0 : tensor<64x16xf32, #tile.reg>
}

// CHECK-LABEL: func @extract
// CHECK-SAME: %[[A:.*]]: tensor<64x64xf32, #tile.reg>, %[[B:.*]]: tensor<64x8xf32, #tile.reg>
func.func @extract(%a: tensor<64x64xf32, #tile.reg>, %b: tensor<64x8xf32, #tile.reg>)
    -> (tensor<64x8xf32, #tile.reg>, tensor<64x8xf32, #tile.reg>, tensor<64x64xf32, #tile.reg>, tensor<64x8xf32, #tile.reg>) {
  %z = arith.constant dense<2.0> : tensor<64x64xf32, #tile.reg>
  %ab = warp.concat_columns %a, %b : tensor<64x64xf32, #tile.reg>, tensor<64x8xf32, #tile.reg> to tensor<64x72xf32, #tile.reg>
  // CHECK-DAG: %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<64x8xf32, #tile.reg>
  %0 = warp.extract_columns %z from 8 : tensor<64x64xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
  %1 = warp.extract_columns %ab from 64 : tensor<64x72xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
  %2 = warp.extract_columns %ab from 0 : tensor<64x72xf32, #tile.reg> to tensor<64x64xf32, #tile.reg>
  // CHECK-DAG: %[[INNER:.*]] = warp.extract_columns
  %3 = warp.extract_columns %ab from 8 : tensor<64x72xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
  // CHECK: return %[[TWO]], %[[B]], %[[A]], %[[INNER]]
  return %0, %1, %2, %3 : tensor<64x8xf32, #tile.reg>, tensor<64x8xf32, #tile.reg>, tensor<64x64xf32, #tile.reg>, tensor<64x8xf32, #tile.reg>
}
