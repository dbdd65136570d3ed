// A buffer's size is known.
// RUN: %reject %s

func.func @f() {
  // expected-error @+1 {{'warp.alloc' op}}
  %k = warp.alloc : memref<?x64xbf16, #warp.shared<row_bytes = 128>>
  return
}
