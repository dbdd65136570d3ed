// A stage is a slice of its buffer.
// RUN: %reject %s

func.func @f(%k: memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>, %s: i32) {
  // expected-error @+1 {{result must be the buffer without its first dimension}}
  %k0 = warp.stage %k[%s] : memref<2x64x64xbf16, #warp.shared<row_bytes = 128>> to memref<32x64xbf16, #warp.shared<row_bytes = 128>>
  return
}
