// Panels divide a buffer's rows.
// RUN: %reject %s

func.func @f() {
  // expected-error @+1 {{panels of 64 columns don't divide the buffer's 80}}
  %k = warp.alloc : memref<64x80xbf16, #warp.shared<panel = 64>>
  return
}
