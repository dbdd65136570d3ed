// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @past_the_end() {
  // expected-error@+1 {{columns 448 to 576 are not all among the 512 of tensor memory}}
  %s = warp.tmem_alloc column(448) : memref<128x128xf32, #warp.tmem>
  return
}

// -----

func.func @before_the_start() {
  // expected-error@+1 {{columns -1 to 127 are not all among the 512 of tensor memory}}
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
  // expected-error@+1 {{columns 65 to 129 are not all among the source's 128}}
  %p = warp.tmem_view %s from 65 : memref<128x128xf32, #warp.tmem> to memref<128x128xbf16, #warp.tmem>
  return
}

// -----

func.func @load(%s: memref<128x128xf32, #warp.tmem>) {
  // expected-error@+1 {{buffer and tile must have one shape and element type, found 'memref<128x128xf32, #warp.tmem>' and 'tensor<128x64xf32, #tile.reg>'}}
  %x = warp.tmem_load %s : memref<128x128xf32, #warp.tmem> to tensor<128x64xf32, #tile.reg>
  return
}

// -----

func.func @store(%s: memref<128x128xf32, #warp.tmem>, %x: tensor<128x128xbf16, #tile.reg>) {
  // expected-error@+1 {{buffer and tile must have one shape and element type, found 'memref<128x128xf32, #warp.tmem>' and 'tensor<128x128xbf16, #tile.reg>'}}
  warp.tmem_store %x to %s : tensor<128x128xbf16, #tile.reg>, memref<128x128xf32, #warp.tmem>
  return
}

// -----

func.func @local_store(%b: memref<128x64xbf16, #warp.shared<panel = 64>>, %x: tensor<64x64xbf16, #tile.reg>) {
  // expected-error@+1 {{buffer and tile must have one shape and element type}}
  warp.local_store %x to %b : tensor<64x64xbf16, #tile.reg>, memref<128x64xbf16, #warp.shared<panel = 64>>
  return
}

// -----

func.func @dot_shapes(%q: memref<128x64xbf16, #warp.shared<panel = 64>>, %s: memref<128x128xf32, #warp.tmem>, %c: i1) {
  // expected-error@+1 {{shapes do not fit a product}}
  warp.dot_into %q, %q, %s accumulate(%c) : memref<128x64xbf16, #warp.shared<panel = 64>>, memref<128x64xbf16, #warp.shared<panel = 64>>, memref<128x128xf32, #warp.tmem>
  return
}

// -----

func.func @dot_elements(%q: memref<128x64xbf16, #warp.shared<panel = 64>>, %k: memref<128x64xf16, #warp.shared<panel = 64>>, %s: memref<128x128xf32, #warp.tmem>, %c: i1) {
  // expected-error@+1 {{operands must have one element type}}
  warp.dot_into %q, %k, %s accumulate(%c) transpose_b : memref<128x64xbf16, #warp.shared<panel = 64>>, memref<128x64xf16, #warp.shared<panel = 64>>, memref<128x128xf32, #warp.tmem>
  return
}

// -----

func.func @dot_stages(%q: memref<2x128x64xbf16, #warp.shared<panel = 64>>, %s: memref<128x128xf32, #warp.tmem>, %c: i1) {
  // expected-error@+1 {{operands must have rank 2}}
  warp.dot_into %q, %q, %s accumulate(%c) transpose_b : memref<2x128x64xbf16, #warp.shared<panel = 64>>, memref<2x128x64xbf16, #warp.shared<panel = 64>>, memref<128x128xf32, #warp.tmem>
  return
}

// -----

func.func @dot_precision(%q: memref<128x64xbf16, #warp.shared<panel = 64>>, %s: memref<128x128xbf16, #warp.tmem>, %c: i1) {
  // expected-error@+1 {{must accumulate in f32, found 'memref<128x128xbf16, #warp.tmem>'}}
  warp.dot_into %q, %q, %s accumulate(%c) transpose_b : memref<128x64xbf16, #warp.shared<panel = 64>>, memref<128x64xbf16, #warp.shared<panel = 64>>, memref<128x128xbf16, #warp.tmem>
  return
}

// -----

func.func @out_to_shared(%b: memref<64x64xbf16, #warp.shared<panel = 64>>, %i: index) {
  // expected-error@+1 {{target must be global memory}}
  warp.copy_out %b to %b[%i, %i] dims [0, 1] : memref<64x64xbf16, #warp.shared<panel = 64>> to memref<64x64xbf16, #warp.shared<panel = 64>>
  return
}

// -----

func.func @out_indices(%b: memref<64x64xbf16, #warp.shared<panel = 64>>, %o: memref<64x64xbf16>, %i: index) {
  // expected-error@+1 {{needs 2 indices, found 1}}
  warp.copy_out %b to %o[%i] dims [0, 1] : memref<64x64xbf16, #warp.shared<panel = 64>> to memref<64x64xbf16>
  return
}

// -----

func.func @out_elements(%b: memref<64x64xbf16, #warp.shared<panel = 64>>, %o: memref<64x64xf32>, %i: index) {
  // expected-error@+1 {{source and target must have one element type}}
  warp.copy_out %b to %o[%i, %i] dims [0, 1] : memref<64x64xbf16, #warp.shared<panel = 64>> to memref<64x64xf32>
  return
}

// -----

func.func @out_rank(%b: memref<2x64x64xbf16, #warp.shared<panel = 64>>, %o: memref<64x64xbf16>, %i: index) {
  // expected-error@+1 {{source must have rank 2}}
  warp.copy_out %b to %o[%i, %i] dims [0, 1] : memref<2x64x64xbf16, #warp.shared<panel = 64>> to memref<64x64xbf16>
  return
}

// -----

func.func @out_dims(%b: memref<64x64xbf16, #warp.shared<panel = 64>>, %o: memref<64x64xbf16>, %i: index) {
  // expected-error@+1 {{dims must be two different dimensions of the target}}
  warp.copy_out %b to %o[%i, %i] dims [0, 2] : memref<64x64xbf16, #warp.shared<panel = 64>> to memref<64x64xbf16>
  return
}
