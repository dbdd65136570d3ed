// RUN: fovea-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @lanes(
// CHECK-SAME: tensor<1x32xi1, #warp.lanes>
func.func @lanes(%x: tensor<1x32xi1, #warp.lanes>, %y: tensor<1x1xf32, #warp.lanes>, %z: tensor<1x192xf32, #warp.lanes>) {
  return
}

// -----

// expected-error@+1 {{'#warp.lanes' needs a 1x1 tile, or one row with a multiple of 32 columns, found 1x48}}
func.func @uneven(%x: tensor<1x48xi1, #warp.lanes>) {
  return
}

// -----

// expected-error@+1 {{found 2x32}}
func.func @rows(%x: tensor<2x32xi1, #warp.lanes>) {
  return
}
