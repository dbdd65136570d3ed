// A loaded tile must have the shape and element type of the buffer.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @load_shape(%b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>) {
  // expected-error@+1 {{buffer and tile must have the same shape and element type, found}}
  %0 = warp.local_load %b : memref<16x16xbf16, #warp.shared<row_bytes = 32>> to tensor<16x8xbf16, #tile.reg>
  return
}

// -----

func.func @load_element(%b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>) {
  // expected-error@+1 {{buffer and tile must have the same shape and element type}}
  %0 = warp.local_load %b : memref<16x16xbf16, #warp.shared<row_bytes = 32>> to tensor<16x16xf16, #tile.reg>
  return
}
