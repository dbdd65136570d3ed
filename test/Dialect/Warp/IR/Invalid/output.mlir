// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @local_store(%b: memref<128x64xbf16, #warp.shared<row_bytes = 128>>, %x: tensor<64x64xbf16, #tile.reg>) {
  // expected-error@+1 {{buffer and tile must have the same shape and element type}}
  warp.local_store %x to %b : tensor<64x64xbf16, #tile.reg>, memref<128x64xbf16, #warp.shared<row_bytes = 128>>
  return
}

// -----

func.func @column_end(%b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %x: tensor<64x32xbf16, #tile.reg>) {
  // expected-error@+1 {{'column' needs a tile with the rows and element type of the buffer and columns within it, found 'tensor<64x32xbf16, #tile.reg>' at column 40 of 'memref<64x64xbf16, #warp.shared<row_bytes = 128>>'}}
  warp.local_store %x to %b column(40) : tensor<64x32xbf16, #tile.reg>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>
  return
}

// -----

func.func @column_start(%b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %x: tensor<64x32xbf16, #tile.reg>) {
  // expected-error@+1 {{'column' needs a tile with the rows and element type of the buffer and columns within it, found 'tensor<64x32xbf16, #tile.reg>' at column -1 of 'memref<64x64xbf16, #warp.shared<row_bytes = 128>>'}}
  warp.local_store %x to %b column(-1) : tensor<64x32xbf16, #tile.reg>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>
  return
}

// -----

func.func @column_rows(%b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %x: tensor<32x32xbf16, #tile.reg>) {
  // expected-error@+1 {{'column' needs a tile with the rows and element type of the buffer and columns within it, found 'tensor<32x32xbf16, #tile.reg>' at column 0 of 'memref<64x64xbf16, #warp.shared<row_bytes = 128>>'}}
  warp.local_store %x to %b column(0) : tensor<32x32xbf16, #tile.reg>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>
  return
}

// -----

func.func @column_element(%b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %x: tensor<64x32xf16, #tile.reg>) {
  // expected-error@+1 {{'column' needs a tile with the rows and element type of the buffer and columns within it, found 'tensor<64x32xf16, #tile.reg>' at column 0 of 'memref<64x64xbf16, #warp.shared<row_bytes = 128>>'}}
  warp.local_store %x to %b column(0) : tensor<64x32xf16, #tile.reg>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>
  return
}

// -----

func.func @out_to_shared(%b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %i: index) {
  // expected-error@+1 {{target must be in global memory}}
  warp.copy_out %b to %b[%i, %i] dims [0, 1] : memref<64x64xbf16, #warp.shared<row_bytes = 128>> to memref<64x64xbf16, #warp.shared<row_bytes = 128>>
  return
}

// -----

func.func @out_indices(%b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %o: memref<64x64xbf16>, %i: index) {
  // expected-error@+1 {{needs 2 indices, found 1}}
  warp.copy_out %b to %o[%i] dims [0, 1] : memref<64x64xbf16, #warp.shared<row_bytes = 128>> to memref<64x64xbf16>
  return
}

// -----

func.func @out_elements(%b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %o: memref<64x64xf32>, %i: index) {
  // expected-error@+1 {{target and source must have the same element type}}
  warp.copy_out %b to %o[%i, %i] dims [0, 1] : memref<64x64xbf16, #warp.shared<row_bytes = 128>> to memref<64x64xf32>
  return
}

// -----

func.func @out_rank(%b: memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>, %o: memref<64x64xbf16>, %i: index) {
  // expected-error@+1 {{source must have rank 2}}
  warp.copy_out %b to %o[%i, %i] dims [0, 1] : memref<2x64x64xbf16, #warp.shared<row_bytes = 128>> to memref<64x64xbf16>
  return
}

// -----

func.func @out_dims(%b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %o: memref<64x64xbf16>, %i: index) {
  // expected-error@+1 {{dims must be two different dimensions of the target}}
  warp.copy_out %b to %o[%i, %i] dims [0, 2] : memref<64x64xbf16, #warp.shared<row_bytes = 128>> to memref<64x64xbf16>
  return
}

// -----

func.func @out_fold(%b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %o: memref<?x64x64xbf16>, %i: index) {
  // expected-error@+1 {{fold's extent must divide the 64 rows, found 3}}
  warp.copy_out %b to %o[%i, %i, %i] dims [0, 2] fold [1, 3] : memref<64x64xbf16, #warp.shared<row_bytes = 128>> to memref<?x64x64xbf16>
  return
}

// -----

func.func @out_adds_integers(%b: memref<64x32xi32, #warp.shared<row_bytes = 128>>, %o: memref<64x32xi32>, %i: index) {
  // expected-error@+1 {{'add' needs float elements, found 'memref<64x32xi32, #warp.shared<row_bytes = 128>>'}}
  warp.copy_out add %b to %o[%i, %i] dims [0, 1] : memref<64x32xi32, #warp.shared<row_bytes = 128>> to memref<64x32xi32>
  return
}

// -----

func.func @fragments_type(%x: tensor<64x64xbf16, #tile.reg>, %b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>) {
  // expected-error@+1 {{'fragments' needs f32 elements and multiples of 16 rows and 8 columns, found 'memref<64x64xbf16, #warp.shared<row_bytes = 128>>'}}
  warp.local_store %x fragments to %b : tensor<64x64xbf16, #tile.reg>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>
  return
}

// -----

func.func @fragments_written(%b: memref<64x64xf32, #warp.shared<row_bytes = 128>>, %m: memref<?x64xf32>, %i: index) {
  // expected-error@+1 {{'fragments' needs 'add', no 'fold', and contiguous memory with 'dims' as its last dimensions, found 'memref<?x64xf32>'}}
  warp.copy_out %b to %m[%i, %i] dims [0, 1] fragments : memref<64x64xf32, #warp.shared<row_bytes = 128>> to memref<?x64xf32>
  return
}

// -----

func.func @fragments_strided(%b: memref<64x64xf32, #warp.shared<row_bytes = 128>>, %m: memref<?x64xf32, strided<[?, 1]>>, %i: index) {
  // expected-error@+1 {{'fragments' needs 'add', no 'fold', and contiguous memory with 'dims' as its last dimensions, found 'memref<?x64xf32, strided<[?, 1]>>'}}
  warp.copy_out add %b to %m[%i, %i] dims [0, 1] fragments : memref<64x64xf32, #warp.shared<row_bytes = 128>> to memref<?x64xf32, strided<[?, 1]>>
  return
}

// -----

func.func @fragments_column(%x: tensor<64x32xf32, #tile.reg>, %b: memref<64x64xf32, #warp.shared<row_bytes = 128>>) {
  // expected-error@+1 {{'column' needs a tile with the rows and element type of the buffer and columns within it, found 'tensor<64x32xf32, #tile.reg>' at column 0 of 'memref<64x64xf32, #warp.shared<row_bytes = 128>>'}}
  warp.local_store %x fragments to %b column(0) : tensor<64x32xf32, #tile.reg>, memref<64x64xf32, #warp.shared<row_bytes = 128>>
  return
}

// -----

func.func @gaps(%b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %o: memref<?x64x64xbf16>, %i: index) {
  // expected-error@+1 {{copies all rows of a fold, found 3 of 4}}
  warp.copy_out %b to %o[%i, %i, %i] dims [0, 2] fold [1, 4, 3] : memref<64x64xbf16, #warp.shared<row_bytes = 128>> to memref<?x64x64xbf16>
  return
}
