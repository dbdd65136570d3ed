// Buffers in shared memory.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @alloc_space() {
  // expected-error@+1 {{result #0 must be static memref in shared memory, but got 'memref<16x16xbf16>'}}
  %0 = warp.alloc : memref<16x16xbf16>
  return
}

// -----

func.func @alloc_dynamic() {
  // expected-error@+1 {{result #0 must be static memref in shared memory}}
  %0 = "warp.alloc"() : () -> memref<?x16xbf16, #warp.shared<row_bytes = 32>>
  return
}

// -----

func.func @alloc_rank() {
  // expected-error@+1 {{result #0 must be static memref in shared memory}}
  %0 = warp.alloc : memref<16xbf16, #warp.shared<row_bytes = 32>>
  return
}

// -----

func.func @alloc_strided() {
  // expected-error@+1 {{result #0 must be static memref in shared memory}}
  %0 = warp.alloc : memref<16x16xbf16, strided<[32, 1]>, #warp.shared<row_bytes = 32>>
  return
}

// -----

func.func @alloc_element() {
  // expected-error@+1 {{rows of a panel must have 32, 64 or 128 bytes, found 256}}
  %0 = warp.alloc : memref<64x64xf32, #warp.shared<row_bytes = 256>>
  return
}

// -----

func.func @alloc_element_index() {
  // expected-error@+1 {{elements must have 8, 16 or 32 bits, found 'index'}}
  %0 = warp.alloc : memref<16x16xindex, #warp.shared<row_bytes = 32>>
  return
}

// -----

func.func @alloc_large() {
  // expected-error@+1 {{extents must be in [1, 65536], found 'memref<4611686018427387904x64xbf16, #warp.shared<row_bytes = 128>>'}}
  %0 = warp.alloc : memref<4611686018427387904x64xbf16, #warp.shared<row_bytes = 128>>
  return
}

// -----

func.func @alloc_nothing() {
  // expected-error@+1 {{extents must be in [1, 65536], found 'memref<0x64xbf16, #warp.shared<row_bytes = 128>>'}}
  %0 = warp.alloc : memref<0x64xbf16, #warp.shared<row_bytes = 128>>
  return
}
