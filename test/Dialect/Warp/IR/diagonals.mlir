// RUN: fovea-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @diagonals(
// CHECK-SAME: tensor<1x256xf32, #warp.diagonals<rows = 128, warps = 8>>
func.func @diagonals(%x: tensor<1x256xf32, #warp.diagonals<rows = 128, warps = 8>>,
                     %y: tensor<1x1xi32, #warp.diagonals<rows = 128, warps = 8>>) {
  return
}

// -----

// expected-error@+1 {{relative positions of 128 rows need a 1x1 tile, or a 1xN tile where N - 128 is a positive multiple of 16, found 1x128}}
func.func @narrow(%x: tensor<1x128xf32, #warp.diagonals<rows = 128, warps = 8>>) {
  return
}

// -----

// expected-error@+1 {{found 1x200}}
func.func @uneven(%x: tensor<1x200xf32, #warp.diagonals<rows = 128, warps = 8>>) {
  return
}

// -----

// expected-error@+1 {{found 128x1}}
func.func @rows(%x: tensor<128x1xf32, #warp.diagonals<rows = 128, warps = 8>>) {
  return
}

// -----

// expected-error@+1 {{'rows' must be a multiple of 128 for 8 warps, found 64}}
func.func @few_rows(%x: tensor<1x128xf32, #warp.diagonals<rows = 64, warps = 8>>) {
  return
}

// -----

// expected-error@+1 {{'warps' must be in [1, 32], found 33}}
func.func @warps(%x: tensor<1x128xf32, #warp.diagonals<rows = 64, warps = 33>>) {
  return
}

// -----

// CHECK-LABEL: func.func @fragments(
// CHECK-SAME: tensor<1x200xf32, #warp.fragment_diagonals<rows = 128, warps = 8>>
func.func @fragments(%x: tensor<1x200xf32, #warp.fragment_diagonals<rows = 128, warps = 8>>,
                     %y: tensor<1x1xf32, #warp.fragment_diagonals<rows = 64, warps = 8>>) {
  return
}

// -----

// expected-error@+1 {{relative positions of 128 rows need a 1x1 tile, or a 1xN tile where N - 128 is a positive multiple of 8, found 1x196}}
func.func @uneven_fragments(%x: tensor<1x196xf32, #warp.fragment_diagonals<rows = 128, warps = 8>>) {
  return
}

// -----

// expected-error@+1 {{'rows' must be a multiple of 64 for 8 warps, found 32}}
func.func @few_rows_of_fragments(%x: tensor<1x64xf32, #warp.fragment_diagonals<rows = 32, warps = 8>>) {
  return
}
