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

// -----

func.func @transposed_shape(%b: memref<32x64xf8E4M3FN, #warp.shared<row_bytes = 64>>) {
  // expected-error@+1 {{buffer and tile must have the same element type and swapped extents, found 'memref<32x64xf8E4M3FN, #warp.shared<row_bytes = 64>>' and 'tensor<32x64xf8E4M3FN, #tile.reg>'}}
  %0 = warp.local_load transpose %b : memref<32x64xf8E4M3FN, #warp.shared<row_bytes = 64>> to tensor<32x64xf8E4M3FN, #tile.reg>
  return
}

// -----

func.func @transposed_element(%b: memref<32x64xbf16, #warp.shared<row_bytes = 128>>) {
  // expected-error@+1 {{'transpose' needs elements of 8 bits, found 'memref<32x64xbf16, #warp.shared<row_bytes = 128>>'}}
  %0 = warp.local_load transpose %b : memref<32x64xbf16, #warp.shared<row_bytes = 128>> to tensor<64x32xbf16, #tile.reg>
  return
}
