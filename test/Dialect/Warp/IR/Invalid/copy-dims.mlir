// Dimensions of a copy.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

!buffer = memref<16x16xbf16, #warp.shared<row_bytes = 32>>
func.func @copy_same_dims(%k: memref<?x?xbf16>, %b: !buffer, %i: index) {
  // expected-error@+1 {{dims must be two different dimensions of the source}}
  warp.copy %k[%i, %i] dims [1, 1] to %b : memref<?x?xbf16> to !buffer
  return
}

// -----

!buffer = memref<16x16xbf16, #warp.shared<row_bytes = 32>>
func.func @copy_dims_range(%k: memref<?x?xbf16>, %b: !buffer, %i: index) {
  // expected-error@+1 {{dims must be two different dimensions of the source}}
  warp.copy %k[%i, %i] dims [0, 2] to %b : memref<?x?xbf16> to !buffer
  return
}

// -----

!buffer = memref<16x16xbf16, #warp.shared<row_bytes = 32>>
func.func @copy_dims_negative(%k: memref<?x?xbf16>, %b: !buffer, %i: index) {
  // expected-error@+1 {{dims must be two different dimensions of the source}}
  warp.copy %k[%i, %i] dims [-1, 0] to %b : memref<?x?xbf16> to !buffer
  return
}

// -----

!buffer = memref<16x16xbf16, #warp.shared<row_bytes = 32>>
func.func @copy_dims_count(%k: memref<?x?xbf16>, %b: !buffer, %i: index) {
  // expected-error@+1 {{dims must be two different dimensions of the source}}
  warp.copy %k[%i, %i] dims [0] to %b : memref<?x?xbf16> to !buffer
  return
}
