// Concatenation of tiles.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @f(%p0: tensor<64x32xf32, #tile.reg>, %p1: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{parts must have as many columns as the result, found 64 and 72}}
  %0 = warp.concat_columns %p0, %p1 : tensor<64x32xf32, #tile.reg>, tensor<64x32xf32, #tile.reg> to tensor<64x72xf32, #tile.reg>
  return
}

// -----

func.func @f(%p0: tensor<64x32xf32, #tile.reg>, %p1: tensor<32x32xf32, #tile.reg>) {
  // expected-error@+1 {{parts must have the result's rows, elements and layout, found}}
  %0 = warp.concat_columns %p0, %p1 : tensor<64x32xf32, #tile.reg>, tensor<32x32xf32, #tile.reg> to tensor<64x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%p0: tensor<64x32xf32, #tile.reg>, %p1: tensor<64x32xbf16, #tile.reg>) {
  // expected-error@+1 {{parts must have the result's rows, elements and layout, found}}
  %0 = warp.concat_columns %p0, %p1 : tensor<64x32xf32, #tile.reg>, tensor<64x32xbf16, #tile.reg> to tensor<64x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%p0: tensor<64x32xf32, #tile.reg>, %p1: tensor<64x32xf32, #warp.mma_sync<warps = 4>>) {
  // expected-error@+1 {{parts must have the result's rows, elements and layout, found}}
  %0 = warp.concat_columns %p0, %p1 : tensor<64x32xf32, #tile.reg>, tensor<64x32xf32, #warp.mma_sync<warps = 4>> to tensor<64x64xf32, #tile.reg>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{parts must have as many columns as the result, found 0 and 8}}
  %0 = "warp.concat_columns"() : () -> tensor<64x8xf32, #tile.reg>
  return
}
