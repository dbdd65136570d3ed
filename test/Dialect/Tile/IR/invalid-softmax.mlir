// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @f(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>) {
  // expected-error@+1 {{step must be positive, found 0}}
  %m, %l, %acc = tile.softmax_sum %i to %i step 0 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      tile.yield %v : tensor<64x32xbf16, #tile.reg>
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>) {
  // expected-error@+1 {{expected 2 operands}}
  %m, %l, %acc = tile.softmax_sum %i to %i step 64 full(%i, %i) visible(%i) scale(1.0)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      tile.yield %v : tensor<64x32xbf16, #tile.reg>
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>) {
  // expected-error@+1 {{scale must be positive and finite, found -5.000000e-01}}
  %m, %l, %acc = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(-0.5)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      tile.yield %v : tensor<64x32xbf16, #tile.reg>
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>) {
  // expected-error@+1 {{scale must be positive and finite, found INF}}
  %m, %l, %acc = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(1.0e300)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      tile.yield %v : tensor<64x32xbf16, #tile.reg>
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>) {
  // expected-error@+1 {{m and l must be row tiles of the accumulator's 16 rows, found 'tensor<8x1xf32, #tile.reg>', 'tensor<8x1xf32, #tile.reg>' and 'tensor<16x32xf32, #tile.reg>'}}
  %m, %l, %acc = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      tile.yield %v : tensor<64x32xbf16, #tile.reg>
    } : tensor<8x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>) {
  // expected-error@+1 {{scores must have arguments ('index', 'i1'), found ('index')}}
  %m, %l, %acc = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(1.0)
    scores(%j: index) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      tile.yield %v : tensor<64x32xbf16, #tile.reg>
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>) {
  %m, %l, %acc = tile.softmax_sum %i to %i step 32 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) {
      // expected-error@+1 {{in scores must yield a 16x32 f32 tile, found 'tensor<16x64xf32, #tile.reg>'}}
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      tile.yield %v : tensor<64x32xbf16, #tile.reg>
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>) {
  %m, %l, %acc = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) {
      // expected-error@+1 {{in scores must yield a 16x64 f32 tile, found }}
      llvm.unreachable
    }
    values(%j: index) {
      tile.yield %v : tensor<64x32xbf16, #tile.reg>
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>) {
  %m, %l, %acc = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      // expected-error@+1 {{in values must yield tiles of 64 rows and one float type of at most 32 bits, one with the columns of each accumulator or one with at least 64 columns, found 'tensor<64x32xbf16, #tile.reg>'}}
      tile.yield %v : tensor<64x32xbf16, #tile.reg>
    } : tensor<16x1xf32, #tile.reg>, tensor<16x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xi8, #tile.reg>) {
  %m, %l, %acc = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      // expected-error@+1 {{in values must yield tiles of 64 rows and one float type of at most 32 bits, one with the columns of each accumulator or one with at least 32 columns, found 'tensor<64x32xi8, #tile.reg>'}}
      tile.yield %v : tensor<64x32xi8, #tile.reg>
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>) {
  // expected-error@+1 {{weights must have arguments ('index', 'tensor<16x64xf32, #tile.reg>'), found ('index')}}
  %m, %l, %acc = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    weights(%j: index) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      tile.yield %v : tensor<64x32xbf16, #tile.reg>
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>) {
  %m, %l, %acc = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    weights(%j: index, %w: tensor<16x64xf32, #tile.reg>) {
      // expected-error@+1 {{in weights must yield a 16x64 f32 tile, found 'index'}}
      tile.yield %j : index
    }
    values(%j: index) {
      tile.yield %v : tensor<64x32xbf16, #tile.reg>
    } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%m: tensor<16x1xf32, #tile.reg>, %acc: tensor<8x32xf32, #tile.reg>) {
  // expected-error@+1 {{m and l must be row tiles of the accumulator's 8 rows}}
  %o, %lse = tile.softmax_finish %m, %m, %acc : tensor<16x1xf32, #tile.reg>, tensor<8x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%m: tensor<16x1xf32, #tile.reg>, %acc: tensor<8x32xf32, #tile.reg>) {
  // expected-error@+1 {{m and l must be row tiles of the accumulator's 8 rows}}
  %a, %b, %c = tile.softmax_merge (%m, %m, %acc), (%m, %m, %acc) : tensor<16x1xf32, #tile.reg>, tensor<16x1xf32, #tile.reg>, tensor<8x32xf32, #tile.reg>
  return
}

// -----

func.func @f(%i: index) {
  // expected-error@+1 {{region #0 ('scores') failed to verify constraint: region with 1 blocks}}
  %m, %l, %acc = "tile.softmax_sum"(%i, %i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, step = 64 : i64, scale = 1.0 : f32}> ({
  }, {
  }, {
  }, {
  }) : (index, index, index, index) -> (tensor<16x1xf32, #tile.reg>, tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>)
  return
}

// -----

func.func @f(%i: index) {
  %m, %l, %acc = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) { tile.yield } values(%j: index) { tile.yield }
    // expected-error@+1 {{expected ','}}
    : tensor<16x1xf32, #tile.reg>
  return
}

// -----

func.func @finish_sink(%m: tensor<16x1xf32, #tile.reg>, %acc: tensor<16x32xf32, #tile.reg>, %s: tensor<8x1xf32, #tile.reg>) {
  // expected-error@+1 {{sink must have the type of m, found 'tensor<8x1xf32, #tile.reg>' and 'tensor<16x1xf32, #tile.reg>'}}
  %o, %lse = tile.softmax_finish %m, %m, %acc sink(%s : tensor<8x1xf32, #tile.reg>) : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @one_bound(%i: index) {
  // expected-error@+1 {{visible must have two bounds or none, found 1}}
  %m, %l, %acc = "tile.softmax_sum"(%i, %i, %i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1, 0>, step = 64 : i64, scale = 1.0 : f32}> ({
  ^bb0(%j: index, %p: i1):
    tile.yield
  }, {
  ^bb0(%j: index):
    tile.yield
  }, {
  }, {
  }) : (index, index, index, index, index) -> (tensor<16x1xf32, #tile.reg>, tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>)
  return
}

// -----

func.func @at_least_once(%i: index) {
  // expected-error@+1 {{'at_least_once' is supported on tile.for_blocks only; 'descending' already runs at least once}}
  %m, %l, %acc = tile.softmax_sum %i to %i step 64 at_least_once full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) { tile.yield } values(%j: index) { tile.yield }
    : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
  return
}
