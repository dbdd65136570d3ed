// Source and target of a copy.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

!scores = memref<128x64xf32, #warp.tmem>
!buffer = memref<128x64xf32, #warp.shared<row_bytes = 128>>
func.func @copy_from_tmem(%s: !scores, %b: !buffer, %i: index) {
  // expected-error@+1 {{source must be in global memory, found 'memref<128x64xf32, #warp.tmem>'}}
  warp.copy %s[%i, %i] dims [0, 1] to %b : !scores to !buffer
  return
}

// -----

!buffer = memref<16x16xbf16, #warp.shared<row_bytes = 32>>
func.func @copy_source(%k: !buffer, %b: !buffer, %i: index) {
  // expected-error@+1 {{source must be in global memory, found 'memref<16x16xbf16, #warp.shared<row_bytes = 32>>'}}
  warp.copy %k[%i, %i] dims [0, 1] to %b : !buffer to !buffer
  return
}

// -----

!buffer = memref<16x16xbf16, #warp.shared<row_bytes = 32>>
func.func @copy_indices(%k: memref<?x?xbf16>, %b: !buffer, %i: index) {
  // expected-error@+1 {{needs 2 indices, found 1}}
  warp.copy %k[%i] dims [0, 1] to %b : memref<?x?xbf16> to !buffer
  return
}

// -----

!buffer = memref<16x16xbf16, #warp.shared<row_bytes = 32>>
func.func @copy_element(%k: memref<?x?xf16>, %b: !buffer, %i: index) {
  // expected-error@+1 {{source and target must have the same element type, found 'memref<?x?xf16>' and}}
  warp.copy %k[%i, %i] dims [0, 1] to %b : memref<?x?xf16> to !buffer
  return
}

// -----

!staged = memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>
func.func @copy_rank(%k: memref<?x?xbf16>, %b: !staged, %i: index) {
  // expected-error@+1 {{target must have rank 2, found 'memref<2x16x16xbf16}}
  warp.copy %k[%i, %i] dims [0, 1] to %b : memref<?x?xbf16> to !staged
  return
}
