// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @ones_offset() {
  // expected-error@+1 {{offset must be a multiple of 1024 bytes, found 512}}
  %0 = warp.ones offset(512) : memref<16x8xbf16, #warp.shared<row_bytes = 128>>
  return
}

// -----

func.func @ones_element() {
  // expected-error@+1 {{elements must be f16 or bf16, found 'i16'}}
  %0 = warp.ones : memref<16x8xi16, #warp.shared<row_bytes = 128>>
  return
}

// -----

func.func @ones_rank() {
  // expected-error@+1 {{buffer must have rank 2, found 'memref<2x16x8xbf16, #warp.shared<row_bytes = 128>>'}}
  %0 = warp.ones : memref<2x16x8xbf16, #warp.shared<row_bytes = 128>>
  return
}

// -----

!b = memref<32x64xbf16, #warp.shared<row_bytes = 128>>
func.func @dot_ones_shape(%a: tensor<64x32xbf16, #tile.reg>, %b: !b, %c: tensor<64x64xf32, #tile.reg>) {
  %ones = warp.ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>
  // expected-error@+1 {{shapes do not form a matrix product: 'tensor<64x32xbf16, #tile.reg>', 'memref<32x64xbf16, #warp.shared<row_bytes = 128>>' and 'tensor<64x64xf32, #tile.reg>' with 8 columns of ones}}
  %0 = warp.dot %a, %b, %c ones(%ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>) : tensor<64x32xbf16, #tile.reg>, !b, tensor<64x64xf32, #tile.reg>
  return
}

// -----

!b = memref<32x64xbf16, #warp.shared<row_bytes = 128>>
func.func @dot_ones_panel(%a: tensor<64x32xbf16, #tile.reg>, %b: !b, %c: tensor<64x72xf32, #tile.reg>) {
  %ones = warp.ones : memref<16x8xbf16, #warp.shared<row_bytes = 64>>
  // expected-error@+1 {{'ones' must have the element type and panels of 'b', found 'memref<16x8xbf16, #warp.shared<row_bytes = 64>>' and 'memref<32x64xbf16, #warp.shared<row_bytes = 128>>'}}
  %0 = warp.dot %a, %b, %c ones(%ones : memref<16x8xbf16, #warp.shared<row_bytes = 64>>) : tensor<64x32xbf16, #tile.reg>, !b, tensor<64x72xf32, #tile.reg>
  return
}

// -----

!b = memref<32x128xbf16, #warp.shared<row_bytes = 128>>
func.func @dot_ones_panels(%a: tensor<64x32xbf16, #tile.reg>, %b: !b, %c: tensor<64x136xf32, #tile.reg>) {
  %ones = warp.ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>
  // expected-error@+1 {{'ones' needs a 'b' of one panel that is not transposed, found 'memref<32x128xbf16, #warp.shared<row_bytes = 128>>'}}
  %0 = warp.dot %a, %b, %c ones(%ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>) : tensor<64x32xbf16, #tile.reg>, !b, tensor<64x136xf32, #tile.reg>
  return
}

// -----

func.func @ones_large() {
  // expected-error@+1 {{extents must be in [1, 65536], found 'memref<16x65544xbf16, #warp.shared<row_bytes = 128>>'}}
  %0 = warp.ones : memref<16x65544xbf16, #warp.shared<row_bytes = 128>>
  return
}
