// Offsets of buffers.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @alloc_offset() {
  // expected-error@+1 {{offset must be a multiple of 1024 bytes, found 512}}
  %0 = warp.alloc offset(512) : memref<16x16xbf16, #warp.shared<row_bytes = 32>>
  return
}

// -----

func.func @alloc_negative_offset() {
  // expected-error@+1 {{offset must be a multiple of 1024 bytes, found -1024}}
  %0 = warp.alloc offset(-1024) : memref<16x16xbf16, #warp.shared<row_bytes = 32>>
  return
}
