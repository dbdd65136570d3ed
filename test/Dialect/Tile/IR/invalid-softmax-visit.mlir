// RUN: fovea-opt %s --split-input-file --verify-diagnostics

!full = tensor<16x64xf32, #tile.reg>
!values = tensor<64x32xbf16, #tile.reg>
func.func @f(%i: index, %w: i32, %s: !full, %v: !values) {
  // expected-error@+1 {{'visit' must have arguments ('index', 'i32'), found ('index')}}
  %m, %l, %acc = tile.softmax_sum blocks %i masked(%i) init(%w : i32) step 64 scale(1.0)
    visit(%n: index) {
      tile.yield %n : index
    }
    scores(%j: index, %p: i1) {
      tile.yield %s : !full
    }
    values(%j: index) {
      tile.yield %v : !values
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

!full = tensor<16x64xf32, #tile.reg>
!values = tensor<64x32xbf16, #tile.reg>
func.func @f(%i: index, %w: f32, %s: !full, %v: !values) {
  // expected-error@+1 {{init must be of integers, found 'f32'}}
  %m, %l, %acc = tile.softmax_sum blocks %i masked(%i) init(%w : f32) step 64 scale(1.0)
    visit(%n: index, %x: f32) {
      tile.yield %n, %x : index, f32
    }
    scores(%j: index, %p: i1) {
      tile.yield %s : !full
    }
    values(%j: index) {
      tile.yield %v : !values
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

!full = tensor<16x64xf32, #tile.reg>
!values = tensor<64x32xbf16, #tile.reg>
func.func @f(%i: index, %w: i32, %s: !full, %v: !values) {
  %m, %l, %acc = tile.softmax_sum blocks %i masked(%i) init(%w : i32) step 64 scale(1.0)
    visit(%n: index, %x: i32) {
      // expected-error@+1 {{in 'visit' must yield ('index', 'i32'), found ('index')}}
      tile.yield %n : index
    }
    scores(%j: index, %p: i1) {
      tile.yield %s : !full
    }
    values(%j: index) {
      tile.yield %v : !values
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

!full = tensor<16x64xf32, #tile.reg>
!values = tensor<64x32xbf16, #tile.reg>
func.func @f(%i: index, %M: memref<?xi32>, %w: i32, %s: !full, %v: !values) {
  %m, %l, %acc = tile.softmax_sum blocks %i masked(%i) step 64 scale(1.0)
    visit(%n: index) {
      // expected-error@+1 {{is not allowed in 'visit': expected no memory effects other than reads}}
      memref.store %w, %M[%n] : memref<?xi32>
      tile.yield %n : index
    }
    scores(%j: index, %p: i1) {
      tile.yield %s : !full
    }
    values(%j: index) {
      tile.yield %v : !values
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
!values = tensor<64x32xbf16, #tile.reg>
func.func @f(%i: index, %s: !full, %v: !values) {
  // expected-error@+1 {{without 'visit' must have lower, upper, full_lower and full_upper, and no count, masked or init}}
  %m, %l, %acc = "tile.softmax_sum"(%i, %i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>, step = 64 : i64, scale = 1.0 : f32}> ({
  ^bb0(%j: index, %p: i1):
    tile.yield %s : !full
  }, {
  ^bb0(%j: index):
    tile.yield %v : !values
  }, {
  }, {
  }) : (index, index, index, index) -> (!row, !row, !acc)
  return
}

// -----

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
!values = tensor<64x32xbf16, #tile.reg>
func.func @f(%i: index, %s: !full, %v: !values) {
  // expected-error@+1 {{with 'visit' must have count and masked, and no bounds and no order}}
  %m, %l, %acc = "tile.softmax_sum"(%i, %i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, step = 64 : i64, scale = 1.0 : f32}> ({
  ^bb0(%j: index, %p: i1):
    tile.yield %s : !full
  }, {
  ^bb0(%j: index):
    tile.yield %v : !values
  }, {
  }, {
  ^bb0(%n: index):
    tile.yield %n : index
  }) : (index, index, index, index) -> (!row, !row, !acc)
  return
}

// -----

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
!values = tensor<64x32xbf16, #tile.reg>
func.func @f(%i: index, %s: !full, %v: !values) {
  // expected-error@+1 {{with 'visit' must have count and masked, and no bounds and no order}}
  %m, %l, %acc = "tile.softmax_sum"(%i, %i, %i, %i) <{operandSegmentSizes = array<i32: 0, 0, 0, 0, 1, 1, 2, 0, 0>, descending, step = 64 : i64, scale = 1.0 : f32}> ({
  ^bb0(%j: index, %p: i1):
    tile.yield %s : !full
  }, {
  ^bb0(%j: index):
    tile.yield %v : !values
  }, {
  }, {
  ^bb0(%n: index):
    tile.yield %n : index
  }) : (index, index, index, index) -> (!row, !row, !acc)
  return
}
