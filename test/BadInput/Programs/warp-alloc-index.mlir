// A buffer's elements have a size.
// RUN: %reject %s

func.func @f() {
  // expected-error @+1 {{'warp.alloc' op}}
  %k = warp.alloc : memref<64x64xindex, #warp.shared<row_bytes = 128>>
  return
}
