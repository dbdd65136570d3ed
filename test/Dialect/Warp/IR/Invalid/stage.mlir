// Types of a stage.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @stage_shape(%b: memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>, %s: i32) {
  // expected-error@+1 {{result must be the buffer without its first dimension, found}}
  %0 = warp.stage %b[%s] : memref<2x16x16xbf16, #warp.shared<row_bytes = 32>> to memref<16x32xbf16, #warp.shared<row_bytes = 32>>
  return
}

// -----

func.func @stage_element(%b: memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>, %s: i32) {
  // expected-error@+1 {{result must be the buffer without its first dimension}}
  %0 = warp.stage %b[%s] : memref<2x16x16xbf16, #warp.shared<row_bytes = 32>> to memref<16x16xf16, #warp.shared<row_bytes = 32>>
  return
}

// -----

func.func @stage_panel(%b: memref<2x16x32xbf16, #warp.shared<row_bytes = 32>>, %s: i32) {
  // expected-error@+1 {{result must be the buffer without its first dimension}}
  %0 = warp.stage %b[%s] : memref<2x16x32xbf16, #warp.shared<row_bytes = 32>> to memref<16x32xbf16, #warp.shared<row_bytes = 64>>
  return
}
