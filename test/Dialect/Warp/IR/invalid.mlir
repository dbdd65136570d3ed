// RUN: fovea-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{rows of a panel have 32, 64 or 128 bytes, found 96}}
func.func private @panel(memref<16x48xbf16, #warp.shared<row_bytes = 96>>)

// -----

// expected-error@+1 {{a pipeline has at least one stage, found 0}}
func.func private @stages(!warp.pipeline<0>)

// -----

// expected-error@+1 {{'warps' must be in [1, 32], found 0}}
func.func private @no_warps(tensor<16x16xf32, #warp.mma_sync<warps = 0>>)

// -----

// expected-error@+1 {{'warps' must be in [1, 32], found 33}}
func.func private @too_many_warps(tensor<16x16xf32, #warp.mma_sync<warps = 33>>)

// -----

// expected-error@+1 {{rows must be 1 or a multiple of 64 for 4 warps, found 96}}
func.func private @rows(tensor<96x16xf32, #warp.mma_sync<warps = 4>>)

// -----

// expected-error@+1 {{columns must be 1 or a multiple of 8, found 12}}
func.func private @columns(tensor<64x12xf32, #warp.mma_sync<warps = 4>>)

// -----

// expected-error@+1 {{rank 2}}
func.func private @rank(tensor<64xf32, #warp.mma_sync<warps = 4>>)

// -----

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
  // expected-error@+1 {{rows of a panel have 32, 64 or 128 bytes, found 256}}
  %0 = warp.alloc : memref<64x64xf32, #warp.shared<row_bytes = 256>>
  return
}

// -----

func.func @alloc_element_index() {
  // expected-error@+1 {{elements must have 16 or 32 bits, found 'index'}}
  %0 = warp.alloc : memref<16x16xindex, #warp.shared<row_bytes = 32>>
  return
}

// -----

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

// -----

func.func @stage_shape(%b: memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>, %s: i32) {
  // expected-error@+1 {{result must be the buffer without its first dimension, found}}
  %0 = warp.stage %b[%s] : memref<2x16x16xbf16, #warp.shared<row_bytes = 32>> to memref<16x32xbf16, #warp.shared<row_bytes = 32>>
  return
}

// -----

func.func @stage_element(%b: memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>, %s: i32) {
  // expected-error@+1 {{result must be the buffer without its first dimension}}
  %0 = warp.stage %b[%s] : memref<2x16x16xbf16, #warp.shared<row_bytes = 32>> to memref<16x16xf16, #warp.shared<row_bytes = 32>>
  return
}

// -----

func.func @stage_panel(%b: memref<2x16x32xbf16, #warp.shared<row_bytes = 32>>, %s: i32) {
  // expected-error@+1 {{result must be the buffer without its first dimension}}
  %0 = warp.stage %b[%s] : memref<2x16x32xbf16, #warp.shared<row_bytes = 32>> to memref<16x32xbf16, #warp.shared<row_bytes = 64>>
  return
}
