// RUN: fovea-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @lanes(
// CHECK-SAME: tensor<1x32xi1, #warp.lanes>
func.func @lanes(%x: tensor<1x32xi1, #warp.lanes>, %y: tensor<1x1xf32, #warp.lanes>) {
  return
}

// -----

// expected-error@+1 {{one column a lane needs a tile of 1x1 or 1x32, found 1x64}}
func.func @wide(%x: tensor<1x64xi1, #warp.lanes>) {
  return
}
