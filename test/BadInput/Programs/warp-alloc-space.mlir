// A buffer is in shared memory.
// RUN: %reject %s

func.func @f() {
  // expected-error @+1 {{'warp.alloc' op}}
  %k = warp.alloc : memref<64x64xbf16>
  return
}
