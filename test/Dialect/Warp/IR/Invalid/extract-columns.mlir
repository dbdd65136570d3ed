// Extraction of columns.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{8 columns from column -8 on are not all among the source's 32}}
  %0 = warp.extract_columns %s from -8 : tensor<64x32xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{8 columns from column 32 on are not all among the source's 32}}
  %0 = warp.extract_columns %s from 32 : tensor<64x32xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{40 columns from column 0 on are not all among the source's 32}}
  %0 = warp.extract_columns %s from 0 : tensor<64x32xf32, #tile.reg> to tensor<64x40xf32, #tile.reg>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{are not all among the source's 32}}
  %0 = warp.extract_columns %s from 9223372036854775807 : tensor<64x32xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{result must have the source's rows, elements and layout, found}}
  %0 = warp.extract_columns %s from 0 : tensor<64x32xf32, #tile.reg> to tensor<32x8xf32, #tile.reg>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{result must have the source's rows, elements and layout, found}}
  %0 = warp.extract_columns %s from 0 : tensor<64x32xf32, #tile.reg> to tensor<64x8xbf16, #tile.reg>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{result must have the source's rows, elements and layout, found}}
  %0 = warp.extract_columns %s from 0 : tensor<64x32xf32, #tile.reg> to tensor<64x8xf32, #warp.mma_sync<warps = 4>>
  return
}
