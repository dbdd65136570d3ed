// Copies in fragment order.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

!vector = memref<1x64xf32, #warp.shared<row_bytes = 128>>
func.func @copy_fragments_dims(%m: memref<?x64xf32>, %b: !vector, %i: index) {
  // expected-error@+1 {{'fragments' copies one row along the last dimension, a multiple of 16 elements, found dims array<i64: 0, 1> and 'memref<1x64xf32, #warp.shared<row_bytes = 128>>'}}
  warp.copy %m[%i, %i] dims [0, 1] fragments to %b : memref<?x64xf32> to !vector
  return
}

// -----

!vector = memref<1x64xf32, #warp.shared<row_bytes = 128>>
func.func @copy_fragments_strides(%m: memref<?xf32, strided<[?]>>, %b: !vector, %i: index) {
  // expected-error@+1 {{'fragments' needs contiguous memory, no 'limit', no 'fold' and no 'groups'}}
  warp.copy %m[%i] dims [-1, 0] fragments to %b : memref<?xf32, strided<[?]>> to !vector
  return
}

// -----

!vector = memref<1x64xf32, #warp.shared<row_bytes = 128>>
func.func @copy_fragments_indices(%m: memref<?x64xf32>, %b: !vector, %i: index) {
  // expected-error@+1 {{needs an index for each dimension of the source and the target's element type, found 'memref<?x64xf32>' and}}
  warp.copy %m[%i] dims [-1, 1] fragments to %b : memref<?x64xf32> to !vector
  return
}
