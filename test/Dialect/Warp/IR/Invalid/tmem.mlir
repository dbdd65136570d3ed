// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @past_the_end() {
  // expected-error@+1 {{128 columns from column 448 on are not all among the 512 of tensor memory}}
  %s = warp.tmem_alloc column(448) : memref<128x128xf32, #warp.tmem>
  return
}

// -----

func.func @before_the_start() {
  // expected-error@+1 {{128 columns from column -1 on are not all among the 512 of tensor memory}}
  %s = warp.tmem_alloc column(-1) : memref<128x128xf32, #warp.tmem>
  return
}

// -----

func.func @rows() {
  // expected-error@+1 {{result #0 must be matrix of 128 rows in tensor memory, but got 'memref<64x128xf32, #warp.tmem>'}}
  %s = warp.tmem_alloc column(0) : memref<64x128xf32, #warp.tmem>
  return
}

// -----

func.func @elements() {
  // expected-error@+1 {{must be matrix of 128 rows in tensor memory, but got 'memref<128x128xf64, #warp.tmem>'}}
  %s = warp.tmem_alloc column(0) : memref<128x128xf64, #warp.tmem>
  return
}

// -----

func.func @half_a_column() {
  // expected-error@+1 {{must be matrix of 128 rows in tensor memory, but got 'memref<128x3xbf16, #warp.tmem>'}}
  %s = warp.tmem_alloc column(0) : memref<128x3xbf16, #warp.tmem>
  return
}

// -----

func.func @view(%s: memref<128x128xf32, #warp.tmem>) {
  // expected-error@+1 {{64 columns from column 65 on are not all among the source's 128}}
  %p = warp.tmem_view %s from 65 : memref<128x128xf32, #warp.tmem> to memref<128x128xbf16, #warp.tmem>
  return
}

// -----

func.func @load(%s: memref<128x128xf32, #warp.tmem>) {
  // expected-error@+1 {{buffer and tile must have the same shape and element type, found 'memref<128x128xf32, #warp.tmem>' and 'tensor<128x64xf32, #tile.reg>'}}
  %x = warp.tmem_load %s : memref<128x128xf32, #warp.tmem> to tensor<128x64xf32, #tile.reg>
  return
}

// -----

func.func @store(%s: memref<128x128xf32, #warp.tmem>, %x: tensor<128x128xbf16, #tile.reg>) {
  // expected-error@+1 {{buffer and tile must have the same shape and element type, found 'memref<128x128xf32, #warp.tmem>' and 'tensor<128x128xbf16, #tile.reg>'}}
  warp.tmem_store %x to %s : tensor<128x128xbf16, #tile.reg>, memref<128x128xf32, #warp.tmem>
  return
}

// -----

func.func @dot_shapes(%q: memref<128x64xbf16, #warp.shared<row_bytes = 128>>, %s: memref<128x128xf32, #warp.tmem>, %c: i1) {
  // expected-error@+1 {{shapes do not form a matrix product}}
  warp.dot_into %q, %q, %s accumulate(%c) : memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<128x128xf32, #warp.tmem>
  return
}

// -----

func.func @dot_elements(%q: memref<128x64xbf16, #warp.shared<row_bytes = 128>>, %k: memref<128x64xf16, #warp.shared<row_bytes = 128>>, %s: memref<128x128xf32, #warp.tmem>, %c: i1) {
  // expected-error@+1 {{operands must have the same element type}}
  warp.dot_into %q, %k, %s accumulate(%c) transpose_b : memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<128x64xf16, #warp.shared<row_bytes = 128>>, memref<128x128xf32, #warp.tmem>
  return
}

// -----

func.func @dot_stages(%q: memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>, %s: memref<128x128xf32, #warp.tmem>, %c: i1) {
  // expected-error@+1 {{operands must have rank 2}}
  warp.dot_into %q, %q, %s accumulate(%c) transpose_b : memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>, memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>, memref<128x128xf32, #warp.tmem>
  return
}

// -----

func.func @dot_precision(%q: memref<128x64xbf16, #warp.shared<row_bytes = 128>>, %s: memref<128x128xbf16, #warp.tmem>, %c: i1) {
  // expected-error@+1 {{must accumulate in f32, found 'memref<128x128xbf16, #warp.tmem>'}}
  warp.dot_into %q, %q, %s accumulate(%c) transpose_b : memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<128x128xbf16, #warp.tmem>
  return
}
