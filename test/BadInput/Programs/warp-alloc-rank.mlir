// A buffer has rows.
// RUN: %reject %s

func.func @f() {
  // expected-error @+1 {{'warp.alloc' op}}
  %k = warp.alloc : memref<bf16, #warp.shared<row_bytes = 128>>
  return
}
