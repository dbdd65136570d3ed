// RUN: fovea-opt %s --split-input-file --verify-diagnostics

!scores = memref<128x64xf32, #warp.tmem>
!buffer = memref<128x64xf32, #warp.shared<row_bytes = 128>>
func.func @copy_from_tmem(%s: !scores, %b: !buffer, %i: index) {
  // expected-error@+1 {{source must be global memory, found 'memref<128x64xf32, #warp.tmem>'}}
  warp.copy %s[%i, %i] dims [0, 1] to %b : !scores to !buffer
  return
}

// -----

!buffer = memref<16x16xbf16, #warp.shared<row_bytes = 32>>
func.func @copy_source(%k: !buffer, %b: !buffer, %i: index) {
  // expected-error@+1 {{source must be global memory, found 'memref<16x16xbf16, #warp.shared<row_bytes = 32>>'}}
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
  // expected-error@+1 {{source and target must have one element type, found 'memref<?x?xf16>' and}}
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

// -----

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

// -----

func.func @load_shape(%b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>) {
  // expected-error@+1 {{buffer and tile must have one shape and element type, found}}
  %0 = warp.local_load %b : memref<16x16xbf16, #warp.shared<row_bytes = 32>> to tensor<16x8xbf16, #tile.reg>
  return
}

// -----

func.func @load_element(%b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>) {
  // expected-error@+1 {{buffer and tile must have one shape and element type}}
  %0 = warp.local_load %b : memref<16x16xbf16, #warp.shared<row_bytes = 32>> to tensor<16x16xf16, #tile.reg>
  return
}

// -----

func.func @dot_rank(%a: tensor<16x16xbf16, #tile.reg>, %b: memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>,
                    %c: tensor<16x16xf32, #tile.reg>) {
  // expected-error@+1 {{operands must have rank 2, found}}
  %0 = warp.dot %a, %b, %c : tensor<16x16xbf16, #tile.reg>, memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>, tensor<16x16xf32, #tile.reg>
  return
}

// -----

func.func @dot_element(%a: tensor<16x16xf16, #tile.reg>, %b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>,
                       %c: tensor<16x16xf32, #tile.reg>) {
  // expected-error@+1 {{operands must have one element type, found}}
  %0 = warp.dot %a, %b, %c : tensor<16x16xf16, #tile.reg>, memref<16x16xbf16, #warp.shared<row_bytes = 32>>, tensor<16x16xf32, #tile.reg>
  return
}

// -----

func.func @dot_sum(%a: tensor<16x32xbf16, #tile.reg>, %b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>,
                   %c: tensor<16x16xf32, #tile.reg>) {
  // expected-error@+1 {{shapes do not fit a product}}
  %0 = warp.dot %a, %b, %c : tensor<16x32xbf16, #tile.reg>, memref<16x16xbf16, #warp.shared<row_bytes = 32>>, tensor<16x16xf32, #tile.reg>
  return
}

// -----

// Transposed, the buffer's rows are the product's columns.
func.func @dot_transposed(%a: tensor<16x16xbf16, #tile.reg>, %b: memref<16x32xbf16, #warp.shared<row_bytes = 64>>,
                          %c: tensor<16x32xf32, #tile.reg>) {
  // expected-error@+1 {{shapes do not fit a product}}
  %0 = warp.dot %a, %b, %c transpose_b : tensor<16x16xbf16, #tile.reg>, memref<16x32xbf16, #warp.shared<row_bytes = 64>>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @dot_acc(%a: tensor<16x16xbf16, #tile.reg>, %b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>,
                   %c: tensor<16x16xbf16, #tile.reg>) {
  // expected-error@+1 {{operand #2 must be}}
  %0 = warp.dot %a, %b, %c : tensor<16x16xbf16, #tile.reg>, memref<16x16xbf16, #warp.shared<row_bytes = 32>>, tensor<16x16xbf16, #tile.reg>
  return
}

// -----

func.func @verb_stage(%p: !warp.pipeline<2>, %s: index, %z: i32) {
  // expected-note@-1 {{prior use here}}
  // expected-error@+1 {{use of value '%s' expects different type than prior uses: 'i32' vs 'index'}}
  warp.consumer_wait %p[%s, %z] : !warp.pipeline<2>
  return
}

// -----

func.func @zero_rows_rank(%b: memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>, %n: index) {
  // expected-error@+1 {{buffer must have rank 2, found 'memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>'}}
  warp.zero_rows %b from %n : memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>
  return
}

// -----

func.func @zero_rows_global(%b: memref<16x16xbf16>, %n: index) {
  // expected-error@+1 {{operand #0 must be static memref in shared memory}}
  "warp.zero_rows"(%b, %n) : (memref<16x16xbf16>, index) -> ()
  return
}

// -----

func.func @dot_turns_registers(%a: tensor<16x16xbf16, #tile.reg>, %b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>,
                               %c: tensor<16x16xf32, #tile.reg>) {
  // expected-error@+1 {{reads a transposed first operand from shared memory only, found 'tensor<16x16xbf16, #tile.reg>'}}
  %0 = warp.dot %a, %b, %c transpose_a : tensor<16x16xbf16, #tile.reg>, memref<16x16xbf16, #warp.shared<row_bytes = 32>>, tensor<16x16xf32, #tile.reg>
  return
}

// -----

!vector = memref<1x64xf32, #warp.shared<row_bytes = 128>>
func.func @copy_fragments_dims(%m: memref<?x64xf32>, %b: !vector, %i: index) {
  // expected-error@+1 {{copies vectors along the last dimension, a multiple of 16 elements, where they lie in fragments, found dims array<i64: 0, 1> and 'memref<1x64xf32, #warp.shared<row_bytes = 128>>'}}
  warp.copy %m[%i, %i] dims [0, 1] fragments to %b : memref<?x64xf32> to !vector
  return
}

// -----

!vector = memref<1x64xf32, #warp.shared<row_bytes = 128>>
func.func @copy_fragments_strides(%m: memref<?xf32, strided<[?]>>, %b: !vector, %i: index) {
  // expected-error@+1 {{copies fragments of memory in one piece, with no limit and no fold}}
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

// -----

func.func @dot_accumulator(%a: tensor<16x16xbf16, #tile.reg>, %b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>, %c: f32) {
  // expected-error@+1 {{accumulator of a dot must be a tile}}
  %0 = warp.dot %a, %b, %c : tensor<16x16xbf16, #tile.reg>, memref<16x16xbf16, #warp.shared<row_bytes = 32>>, f32
  return
}
