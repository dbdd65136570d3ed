// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error@+1 {{attribute 'tile' failed to satisfy constraint: type attribute of}}
  %first, %count = tile.held_rows tensor<16x1xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{dim must be 0 or 1, found 2}}
  %i = tile.iota dim 2 : tensor<16x1xi32, #tile.reg>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error@+1 {{dim must be 0 or 1, found 2}}
  %i = tile.ramp %x step %x dim 2 : tensor<16x1xf32, #tile.reg>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error@+1 {{result must have extent 1 along the other dimension, found 'tensor<16x2xf32, #tile.reg>'}}
  %i = tile.ramp %x step %x dim 0 : tensor<16x2xf32, #tile.reg>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{result must be of i32 or i64, found 'tensor<16x1xf32, #tile.reg>'}}
  %i = tile.iota dim 0 : tensor<16x1xf32, #tile.reg>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{result must have extent 1 along the other dimension, found 'tensor<16x2xi32, #tile.reg>'}}
  %i = tile.iota dim 0 : tensor<16x2xi32, #tile.reg>
  return
}

// -----

func.func @f(%x: f64) {
  // expected-error@+1 {{source must be a register tile or a scalar 'f32', found 'f64'}}
  %b = tile.broadcast %x : f64 to tensor<16x1xf32, #tile.reg>
  return
}

// -----

func.func @f(%x: tensor<16x1xi32, #tile.reg>) {
  // expected-error@+1 {{source and result must have the same element type and encoding, found 'tensor<16x1xi32, #tile.reg>' and 'tensor<16x64xf32, #tile.reg>'}}
  %b = tile.broadcast %x : tensor<16x1xi32, #tile.reg> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%x: tensor<16x2xf32, #tile.reg>) {
  // expected-error@+1 {{cannot broadcast 'tensor<16x2xf32, #tile.reg>' to 'tensor<16x64xf32, #tile.reg>'}}
  %b = tile.broadcast %x : tensor<16x2xf32, #tile.reg> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%x: tensor<16x64xf32, #tile.reg>) {
  // expected-error@+1 {{dim must be 0 or 1, found -1}}
  %r = tile.reduce add dim -1 %x : tensor<16x64xf32, #tile.reg> to tensor<16x1xf32, #tile.reg>
  return
}

// -----

func.func @f(%x: tensor<16x64xf32, #tile.reg>) {
  // expected-error@+1 {{result must be the source with an extent along dim 1 that divides it, found 'tensor<16x64xf32, #tile.reg>' to 'tensor<16x5xf32, #tile.reg>'}}
  %r = tile.reduce add dim 1 %x : tensor<16x64xf32, #tile.reg> to tensor<16x5xf32, #tile.reg>
  return
}

// -----

func.func @f(%x: tensor<16x64xf32, #tile.reg>) {
  // expected-error@+1 {{result must be the source with an extent along dim 0}}
  %r = tile.reduce max dim 0 %x : tensor<16x64xf32, #tile.reg> to tensor<1x64xf16, #tile.reg>
  return
}

// -----

func.func @f(%a: tensor<16x8xf16, #tile.reg>, %c: tensor<16x16xf32, #tile.reg>) {
  // expected-error@+1 {{operands differ in the dimension that is summed over: 'tensor<16x8xf16, #tile.reg>' and 'tensor<16x8xf16, #tile.reg>'}}
  %d = tile.dot %a, %a, %c : tensor<16x8xf16, #tile.reg>, tensor<16x8xf16, #tile.reg>, tensor<16x16xf32, #tile.reg>
  return
}

// -----

func.func @f(%a: tensor<16x16xf64, #tile.reg>, %c: tensor<16x16xf32, #tile.reg>) {
  // expected-error@+1 {{operands must have one float type of at most 32 bits, found 'tensor<16x16xf64, #tile.reg>'}}
  %d = tile.dot %a, %a, %c : tensor<16x16xf64, #tile.reg>, tensor<16x16xf64, #tile.reg>, tensor<16x16xf32, #tile.reg>
  return
}

// -----

func.func @f(%a: tensor<16x16xf16, #tile.reg>, %c: tensor<16x64xf32, #tile.reg>) {
  // expected-error@+1 {{accumulator must be 16x16 with the operands' encoding, found 'tensor<16x64xf32, #tile.reg>'}}
  %d = tile.dot %a, %a, %c : tensor<16x16xf16, #tile.reg>, tensor<16x16xf16, #tile.reg>, tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{needs 2 indices, found 1}}
  %x = tile.load %M[%i] dims [0, 1] : memref<?x?xf32> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{tile and memref must have the same element type, found 'tensor<16x64xf16, #tile.reg>' and 'memref<?x?xf32>'}}
  %x = tile.load %M[%i, %i] dims [0, 1] : memref<?x?xf32> to tensor<16x64xf16, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{dims must have two entries, found 0}}
  %x = tile.load %M[%i, %i] limit(%i) dims [] : memref<?x?xf32> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{dims must be -1 or a dimension of the memref, found 2}}
  %x = tile.load %M[%i, %i] dims [0, 2] : memref<?x?xf32> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{dims may be -1 where the tile's extent is 1, found extent 64}}
  %x = tile.load %M[%i, %i] dims [0, -1] : memref<?x?xf32> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{dims must differ, found 1 twice}}
  %x = tile.load %M[%i, %i] dims [1, 1] : memref<?x?xf32> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{limit needs a memref dimension in dims[0]}}
  %x = tile.load %M[%i, %i] limit(%i) dims [-1, 0] : memref<?x?xf32> to tensor<1x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index, %x: tensor<16x64xf32, #tile.reg>) {
  // expected-error@+1 {{needs 2 indices, found 0}}
  tile.store %x, %M[] dims [0, 1] : tensor<16x64xf32, #tile.reg>, memref<?x?xf32>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{needs 2 indices, found 1}}
  %x = tile.gather %M[%i] : memref<?x?xf32>[index] to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{result and memref must have the same element type, found 'tensor<16x64xi32, #tile.reg>' and 'memref<?x?xf32>'}}
  %x = tile.gather %M[%i, %i] : memref<?x?xf32>[index, index] to tensor<16x64xi32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index, %j: i32) {
  // expected-error@+1 {{indices must be index or tiles of i32 or i64 that broadcast to the result, found 'i32'}}
  %x = tile.gather %M[%i, %j] : memref<?x?xf32>[index, i32] to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index, %j: tensor<1x32xi32, #tile.reg>) {
  // expected-error@+1 {{that broadcast to the result, found 'tensor<1x32xi32, #tile.reg>'}}
  %x = tile.gather %M[%i, %j] : memref<?x?xf32>[index, tensor<1x32xi32, #tile.reg>] to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index, %k: tensor<8x1xi1, #tile.reg>) {
  // expected-error@+1 {{mask must broadcast to the result, found 'tensor<8x1xi1, #tile.reg>'}}
  %x = tile.gather %M[%i, %i] mask(%k : tensor<8x1xi1, #tile.reg>) : memref<?x?xf32>[index, index] to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %x: tensor<16x1xf32, #tile.reg>, %i: index) {
  // expected-error@+1 {{needs 2 indices, found 1}}
  tile.scatter %x, %M[%i] : tensor<16x1xf32, #tile.reg>, memref<?x?xf32>[index]
  return
}

// -----

func.func @f(%M: memref<?xi32>, %x: tensor<16x1xi32, #tile.reg>, %i: index) {
  // expected-error@+1 {{'add' needs f32 elements, found 'tensor<16x1xi32, #tile.reg>'}}
  tile.scatter add %x, %M[%i] : tensor<16x1xi32, #tile.reg>, memref<?xi32>[index]
  return
}

// -----

func.func @f(%M: memref<33x?xi64>, %x: tensor<16x1xf32, #tile.reg>, %i: index) {
  // expected-error@+1 {{'exact' needs 'add'}}
  tile.scatter exact %x, %M[%i] : tensor<16x1xf32, #tile.reg>, memref<33x?xi64>[index]
  return
}

// -----

func.func @f(%M: memref<32x?xi64>, %x: tensor<16x1xf32, #tile.reg>, %i: index) {
  // expected-error@+1 {{exact sums must be 33 i64 each, along the memref's first dimension, found 'memref<32x?xi64>'}}
  tile.scatter add exact %x, %M[%i] : tensor<16x1xf32, #tile.reg>, memref<32x?xi64>[index]
  return
}

// -----

func.func @f(%M: memref<33x?xf32>, %x: tensor<16x1xf32, #tile.reg>, %i: index) {
  // expected-error@+1 {{exact sums must be 33 i64 each, along the memref's first dimension, found 'memref<33x?xf32>'}}
  tile.scatter add exact %x, %M[%i] : tensor<16x1xf32, #tile.reg>, memref<33x?xf32>[index]
  return
}

// -----

func.func @f(%M: memref<33x?xi64>, %x: tensor<16x1xf32, #tile.reg>, %i: index) {
  // expected-error@+1 {{needs 1 indices, found 2}}
  tile.scatter add exact %x, %M[%i, %i] : tensor<16x1xf32, #tile.reg>, memref<33x?xi64>[index, index]
  return
}

// -----

func.func @f(%M: memref<?xi32>, %x: tensor<16x1xf32, #tile.reg>, %i: index) {
  // expected-error@+1 {{value and memref must have the same element type, found 'tensor<16x1xf32, #tile.reg>' and 'memref<?xi32>'}}
  tile.scatter %x, %M[%i] : tensor<16x1xf32, #tile.reg>, memref<?xi32>[index]
  return
}

// -----

func.func @f(%M: memref<?xf32>, %x: tensor<16x1xf32, #tile.reg>, %i: tensor<16x1xf32, #tile.reg>) {
  // expected-error@+1 {{indices must be index or tiles of i32 or i64 that broadcast to the value, found 'tensor<16x1xf32, #tile.reg>'}}
  tile.scatter %x, %M[%i] : tensor<16x1xf32, #tile.reg>, memref<?xf32>[tensor<16x1xf32, #tile.reg>]
  return
}

// -----

func.func @f(%M: memref<?xf32>, %x: tensor<16x1xf32, #tile.reg>, %i: index, %k: tensor<16x2xi1, #tile.reg>) {
  // expected-error@+1 {{mask must broadcast to the value, found 'tensor<16x2xi1, #tile.reg>'}}
  tile.scatter %x, %M[%i] mask(%k : tensor<16x2xi1, #tile.reg>) : tensor<16x1xf32, #tile.reg>, memref<?xf32>[index]
  return
}

// -----

func.func @store_limit(%x: tensor<1x64xf32, #tile.reg>, %M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{limit needs a memref dimension in dims[0]}}
  tile.store %x, %M[%i, %i] limit(%i) dims [-1, 0] : tensor<1x64xf32, #tile.reg>, memref<?x?xf32>
  return
}

// -----

func.func @random_extent(%k: i64, %i: index) {
  // expected-error@+1 {{result must be an i32 tile whose extent along dimension 1 is a multiple of 8, found 'tensor<16x4xi32, #tile.reg>'}}
  %x = tile.random key(%k) stream(%k) [%i, %i] dim 1 : tensor<16x4xi32, #tile.reg>
  return
}

// -----

func.func @random_type(%k: i64, %i: index) {
  // expected-error@+1 {{result must be an i32 tile whose extent along dimension 0 is a multiple of 8, found 'tensor<16x16xi16, #tile.reg>'}}
  %x = tile.random key(%k) stream(%k) [%i, %i] dim 0 : tensor<16x16xi16, #tile.reg>
  return
}

// -----

func.func @random_dim(%k: i64, %i: index) {
  // expected-error@+1 {{dim must be 0 or 1, found 2}}
  %x = tile.random key(%k) stream(%k) [%i, %i] dim 2 : tensor<16x16xi32, #tile.reg>
  return
}

// -----

func.func @random_generator(%k: i64, %i: index) {
  // expected-error@+1 {{generator 2 is not known, expected 1}}
  %x = tile.random key(%k) stream(%k) [%i, %i] dim 1 generator 2 : tensor<16x16xi32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{fold must be a dimension, an extent and optionally a number of rows that exist, found 1 entries}}
  %x = tile.load %M[%i, %i] dims [0, -1] fold [1] : memref<?x?xf32> to tensor<16x1xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{fold needs a dimension of the memref besides those of dims, found 1}}
  %x = tile.load %M[%i, %i] dims [0, 1] fold [1, 4] : memref<?x?xf32> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{fold needs a dimension of the memref besides those of dims, found 2}}
  %x = tile.load %M[%i, %i] dims [0, -1] fold [2, 4] : memref<?x?xf32> to tensor<16x1xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{fold needs a dimension of the memref besides those of dims, found 0}}
  %x = tile.load %M[%i, %i] dims [-1, 1] fold [0, 1] : memref<?x?xf32> to tensor<1x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %x: tensor<16x1xf32, #tile.reg>, %i: index) {
  // expected-error@+1 {{fold's extent must divide the 16 rows, found 5}}
  tile.store %x, %M[%i, %i] dims [0, -1] fold [1, 5] : tensor<16x1xf32, #tile.reg>, memref<?x?xf32>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %x: tensor<16x1xf32, #tile.reg>, %i: index) {
  // expected-error@+1 {{fold's extent must divide the 16 rows, found 0}}
  tile.store %x, %M[%i, %i] dims [0, -1] fold [1, 0] : tensor<16x1xf32, #tile.reg>, memref<?x?xf32>
  return
}

// -----

func.func @dot_columns_end(%a: tensor<16x16xf16, #tile.reg>, %b: tensor<16x64xf16, #tile.reg>, %c: tensor<16x32xf32, #tile.reg>) {
  // expected-error@+1 {{columns must be inside the operand, found 32 starting at 48 of 'tensor<16x64xf16, #tile.reg>'}}
  %d = tile.dot %a, %b, %c columns(48) : tensor<16x16xf16, #tile.reg>, tensor<16x64xf16, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @dot_columns_first(%a: tensor<16x16xf16, #tile.reg>, %b: tensor<16x64xf16, #tile.reg>, %c: tensor<16x32xf32, #tile.reg>) {
  // expected-error@+1 {{columns must be inside the operand, found 32 starting at -16}}
  %d = tile.dot %a, %b, %c columns(-16) : tensor<16x16xf16, #tile.reg>, tensor<16x64xf16, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @dot_columns_far(%a: tensor<16x16xf16, #tile.reg>, %b: tensor<16x64xf16, #tile.reg>, %c: tensor<16x32xf32, #tile.reg>) {
  // expected-error@+1 {{columns must be inside the operand, found 32 starting at 9223372036854775807}}
  %d = tile.dot %a, %b, %c columns(9223372036854775807) : tensor<16x16xf16, #tile.reg>, tensor<16x64xf16, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @dot_rows(%a: tensor<16x64xf16, #tile.reg>, %b: tensor<16x32xf16, #tile.reg>, %c: tensor<32x32xf32, #tile.reg>) {
  // expected-error@+1 {{rows must be inside the operand, found 32 starting at 48 of 'tensor<16x64xf16, #tile.reg>'}}
  %d = tile.dot %a, %b, %c transpose_a rows(48) : tensor<16x64xf16, #tile.reg>, tensor<16x32xf16, #tile.reg>, tensor<32x32xf32, #tile.reg>
  return
}

// -----

func.func @dot_rows_as_they_are(%a: tensor<64x16xf16, #tile.reg>, %b: tensor<16x32xf16, #tile.reg>, %c: tensor<32x32xf32, #tile.reg>) {
  // expected-error@+1 {{'rows' needs a transposed first operand}}
  %d = tile.dot %a, %b, %c rows(0) : tensor<64x16xf16, #tile.reg>, tensor<16x32xf16, #tile.reg>, tensor<32x32xf32, #tile.reg>
  return
}

// -----

func.func @dot_columns_transposed(%a: tensor<16x64xf16, #tile.reg>, %b: tensor<64x64xf16, #tile.reg>, %c: tensor<16x32xf32, #tile.reg>) {
  // expected-error@+1 {{'columns' needs a second operand that is not transposed}}
  %d = tile.dot %a, %b, %c transpose_b columns(0) : tensor<16x64xf16, #tile.reg>, tensor<64x64xf16, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @dot_transposed_first(%a: tensor<16x8xf16, #tile.reg>, %c: tensor<16x8xf32, #tile.reg>) {
  // expected-error@+1 {{accumulator must be 8x8 with the operands' encoding, found 'tensor<16x8xf32, #tile.reg>'}}
  %d = tile.dot %a, %a, %c transpose_a : tensor<16x8xf16, #tile.reg>, tensor<16x8xf16, #tile.reg>, tensor<16x8xf32, #tile.reg>
  return
}

// -----

func.func @store_adds_bf16(%x: tensor<16x64xbf16, #tile.reg>, %M: memref<?x?xbf16>, %i: index) {
  // expected-error@+1 {{'add' needs f32 elements, found 'tensor<16x64xbf16, #tile.reg>'}}
  tile.store add %x, %M[%i, %i] dims [0, 1] : tensor<16x64xbf16, #tile.reg>, memref<?x?xbf16>
  return
}

// -----

func.func @stream_without_name(%x: tensor<16x64xbf16, #tile.reg>) {
  // expected-error@+1 {{needs the name of its stream}}
  %s = "tile.stream"(%x) : (tensor<16x64xbf16, #tile.reg>) -> tensor<16x64xbf16, #tile.reg>
  return
}

// -----

!tile = tensor<16x64xf32, #tile.reg>
func.func @fragments_limit(%x: !tile, %M: memref<?x64xf32>, %i: index) {
  // expected-error@+1 {{tiles in fragments must have no limit, no fold and no groups}}
  tile.store %x, %M[%i, %i] limit(%i) dims [0, 1] fragments : !tile, memref<?x64xf32>
  return
}

// -----

!tile = tensor<16x64xf32, #tile.reg>
func.func @registers_alone(%x: !tile, %M: memref<?x64xf32>, %i: index) {
  // expected-error@+1 {{'by_register' needs a matrix in 'fragments'}}
  tile.store %x, %M[%i, %i] dims [0, 1] by_register : !tile, memref<?x64xf32>
  return
}

// -----

func.func @registers_of_vector(%M: memref<?xf32>, %i: index) {
  // expected-error@+1 {{'by_register' needs a matrix in 'fragments'}}
  %x = tile.load %M[%i] dims [-1, 0] fragments by_register : memref<?xf32> to tensor<1x16xf32, #tile.reg>
  return
}

// -----

!tile = tensor<16x64xf32, #tile.reg>
func.func @fragments_dims(%M: memref<?x?x64xf32>, %i: index) {
  // expected-error@+1 {{fragments must be along the memref's last dimensions, found dims 0 and 2}}
  %x = tile.load %M[%i, %i, %i] dims [0, 2] fragments : memref<?x?x64xf32> to !tile
  return
}

// -----

!tile = tensor<16x64xf32, #tile.reg>
func.func @fragments_rows(%M: memref<?x64xf32, strided<[?, 1]>>, %i: index) {
  // expected-error@+1 {{rows of fragments must be contiguous and a multiple of 8 columns, found 'memref<?x64xf32, strided<[?, 1]>>'}}
  %x = tile.load %M[%i, %i] dims [0, 1] fragments : memref<?x64xf32, strided<[?, 1]>> to !tile
  return
}

// -----

func.func @fragments_height(%M: memref<?x64xf32>, %i: index) {
  // expected-error@+1 {{matrices in fragments must be a multiple of 16 rows and 8 columns, found 'tensor<4x64xf32, #tile.reg>'}}
  %x = tile.load %M[%i, %i] dims [0, 1] fragments : memref<?x64xf32> to tensor<4x64xf32, #tile.reg>
  return
}

// -----

func.func @fragments_width(%M: memref<?xf32>, %i: index) {
  // expected-error@+1 {{vectors in fragments must be a multiple of 16 elements, found 'tensor<1x8xf32, #tile.reg>'}}
  %x = tile.load %M[%i] dims [-1, 0] fragments : memref<?xf32> to tensor<1x8xf32, #tile.reg>
  return
}

// -----

func.func @transposed_shape(%x: tensor<32x64xf32, #tile.reg>) {
  // expected-error@+1 {{result must be the source with its extents swapped, found 'tensor<32x64xf32, #tile.reg>' to 'tensor<32x64xf32, #tile.reg>'}}
  %t = tile.transpose %x : tensor<32x64xf32, #tile.reg> to tensor<32x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x8xf32>, %i: index) {
  // expected-error@+1 {{needs one target for each source, found 2 and 1}}
  tile.copy_rows %M, %M[%i] to %M[%i] : memref<?x8xf32>, memref<?x8xf32> to memref<?x8xf32>
  return
}

// -----

func.func @f(%M: memref<?x8xf32>, %i: index) {
  // expected-error@+1 {{must leave the same number of dimensions, at least 1, without index in source and target, found 'memref<?x8xf32>' and 'memref<?x8xf32>'}}
  tile.copy_rows %M[%i, %i] to %M[%i, %i] : memref<?x8xf32> to memref<?x8xf32>
  return
}

// -----

func.func @f(%M: memref<?x8xf32>, %N: memref<?x16xf32>, %i: index) {
  // expected-error@+1 {{source and target must have the same element type and copied dimensions, found 'memref<?x8xf32>' and 'memref<?x16xf32>'}}
  tile.copy_rows %M[%i] to %N[%i] : memref<?x8xf32> to memref<?x16xf32>
  return
}

// -----

func.func @f(%M: memref<?x?x64xf32>, %i: index) {
  // expected-error@+1 {{groups must be a dimension and a number of rows, found 1 entries}}
  %x = tile.load %M[%i, %i, %i, %i] dims [1, 2] groups [0] : memref<?x?x64xf32> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?x64xf32>, %i: index) {
  // expected-error@+1 {{groups need a dimension of the memref besides those of dims, and no fold, found 1}}
  %x = tile.load %M[%i, %i, %i, %i] dims [1, 2] groups [1, 8] : memref<?x?x64xf32> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?x64xf32>, %i: index) {
  // expected-error@+1 {{groups must divide the 16 rows, found groups of 12}}
  %x = tile.load %M[%i, %i, %i, %i] dims [1, 2] groups [0, 12] : memref<?x?x64xf32> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?x64xf32>, %i: index) {
  // expected-error@+1 {{needs 6 indices, found 3}}
  %x = tile.load %M[%i, %i, %i] dims [1, 2] groups [0, 4] : memref<?x?x64xf32> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?xf32>, %x: tensor<16x1xf32, #tile.reg>, %i: index) {
  // expected-error@+1 {{from 1 to 4 rows of a fold must exist, found 5}}
  tile.store %x, %M[%i, %i] dims [0, -1] fold [1, 4, 5] : tensor<16x1xf32, #tile.reg>, memref<?x?xf32>
  return
}

// -----

func.func @f(%M: memref<?x?x64xf32>, %T: memref<?xi32>, %i: index) {
  // expected-error@+1 {{a table needs 'groups', whose indices it has}}
  %x = tile.load %M[%i, %i, %i] dims [1, 2] at %T[%i] : memref<?x?x64xf32> at memref<?xi32> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?x64xf32>, %T: memref<?x?xi32>, %i: index) {
  // expected-error@+1 {{needs an index for each dimension of the table 'memref<?x?xi32>', found 1}}
  %x = tile.load %M[%i, %i, %i] dims [1, 2] groups [0, 3] at %T[%i] : memref<?x?x64xf32> at memref<?x?xi32> to tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%M: memref<?x?x64xf32>, %T: memref<?xi32>, %i: index) {
  // expected-error@+1 {{needs 3 indices, found 4}}
  %x = tile.load %M[%i, %i, %i, %i] dims [1, 2] groups [0, 8] at %T[%i] : memref<?x?x64xf32> at memref<?xi32> to tensor<16x64xf32, #tile.reg>
  return
}
