// Only 8-bit elements are loaded transposed.
// RUN: %reject %s

func.func @f(%b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>) {
  // expected-error @+1 {{'transpose' needs elements of 8 bits}}
  %t = warp.local_load transpose %b : memref<64x64xbf16, #warp.shared<row_bytes = 128>> to tensor<64x64xbf16, #tile.reg>
  return
}
