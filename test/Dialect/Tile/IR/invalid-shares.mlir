// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @f(%i: index, %x: tensor<64x32xf32, #tile.reg>, %y: tensor<32x1xf32, #tile.reg>, %memory: memref<?x64x32xf32>, %sums: memref<?x32xf32>, %counters: memref<8xi32>) {
  // expected-error@+1 {{'step' must be a divisor of the 64 rows of a state, found 24}}
  tile.join (%x) part(%i of %i at %i) rows(%i) memory(%memory) counters(%counters) step 24 : tensor<64x32xf32, #tile.reg> through memref<?x64x32xf32>, memref<8xi32>
    combine(%a: tensor<16x32xf32, #tile.reg>, %b: tensor<16x32xf32, #tile.reg>) {
      tile.yield %a : tensor<16x32xf32, #tile.reg>
    }
    whole(%a: tensor<64x32xf32, #tile.reg>) {
      tile.yield
    }
    each(%r: index, %a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
  return
}

// -----

func.func @f(%i: index, %x: tensor<64x32xf32, #tile.reg>, %y: tensor<32x1xf32, #tile.reg>, %memory: memref<?x64x32xf32>, %sums: memref<?x32xf32>, %counters: memref<8x8xi32>) {
  // expected-error@+1 {{counters must have one dimension, found 'memref<8x8xi32>'}}
  tile.join (%x) part(%i of %i at %i) rows(%i) memory(%memory) counters(%counters) step 16 : tensor<64x32xf32, #tile.reg> through memref<?x64x32xf32>, memref<8x8xi32>
    combine(%a: tensor<16x32xf32, #tile.reg>, %b: tensor<16x32xf32, #tile.reg>) {
      tile.yield %a : tensor<16x32xf32, #tile.reg>
    }
    whole(%a: tensor<64x32xf32, #tile.reg>) {
      tile.yield
    }
    each(%r: index, %a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
  return
}

// -----

func.func @f(%i: index, %x: tensor<64x32xf32, #tile.reg>, %y: tensor<32x1xf32, #tile.reg>, %memory: memref<?x64x32xf32>, %sums: memref<?x32xf32>, %counters: memref<8xi32>) {
  // expected-error@+1 {{needs memory for each of the 1 tiles, found 2}}
  tile.join (%x) part(%i of %i at %i) rows(%i) memory(%memory, %sums) counters(%counters) step 16 : tensor<64x32xf32, #tile.reg> through memref<?x64x32xf32>, memref<?x32xf32>, memref<8xi32>
    combine(%a: tensor<16x32xf32, #tile.reg>, %b: tensor<16x32xf32, #tile.reg>) {
      tile.yield %a : tensor<16x32xf32, #tile.reg>
    }
    whole(%a: tensor<64x32xf32, #tile.reg>) {
      tile.yield
    }
    each(%r: index, %a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
  return
}

// -----

func.func @f(%i: index, %x: tensor<64x32xf32, #tile.reg>, %y: tensor<32x1xf32, #tile.reg>, %memory: memref<?x64x32xf32>, %sums: memref<?x32xf32>, %counters: memref<8xi32>) {
  // expected-error@+1 {{memory of a state 'tensor<64x32xf32, #tile.reg>' must be 'memref<?x64x32xf32>', found 'memref<?x32xf32>'}}
  tile.join (%x) part(%i of %i at %i) rows(%i) memory(%sums) counters(%counters) step 16 : tensor<64x32xf32, #tile.reg> through memref<?x32xf32>, memref<8xi32>
    combine(%a: tensor<16x32xf32, #tile.reg>, %b: tensor<16x32xf32, #tile.reg>) {
      tile.yield %a : tensor<16x32xf32, #tile.reg>
    }
    whole(%a: tensor<64x32xf32, #tile.reg>) {
      tile.yield
    }
    each(%r: index, %a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
  return
}

// -----

func.func @f(%i: index, %x: tensor<64x32xf32, #tile.reg>, %y: tensor<32x1xf32, #tile.reg>, %memory: memref<?x64x32xf32>, %sums: memref<?x32xf32>, %counters: memref<8xi32>) {
  // expected-error@+1 {{states must have the same number of rows, found 64 and 32}}
  tile.join (%x, %y) part(%i of %i at %i) rows(%i) memory(%memory, %sums) counters(%counters) step 16 : tensor<64x32xf32, #tile.reg>, tensor<32x1xf32, #tile.reg> through memref<?x64x32xf32>, memref<?x32xf32>, memref<8xi32>
    combine(%a: tensor<16x32xf32, #tile.reg>, %b: tensor<16x32xf32, #tile.reg>) {
      tile.yield %a : tensor<16x32xf32, #tile.reg>
    }
    whole(%a: tensor<64x32xf32, #tile.reg>) {
      tile.yield
    }
    each(%r: index, %a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
  return
}

// -----

func.func @f(%i: index, %x: tensor<64x32xf32, #tile.reg>, %y: tensor<32x1xf32, #tile.reg>, %memory: memref<?x64x32xf32>, %sums: memref<?x32xf32>, %counters: memref<8xi32>) {
  // expected-error@+1 {{region 'combine' must have the arguments}}
  tile.join (%x) part(%i of %i at %i) rows(%i) memory(%memory) counters(%counters) step 16 : tensor<64x32xf32, #tile.reg> through memref<?x64x32xf32>, memref<8xi32>
    combine(%a: tensor<16x32xf32, #tile.reg>) {
      tile.yield %a : tensor<16x32xf32, #tile.reg>
    }
    whole(%a: tensor<64x32xf32, #tile.reg>) {
      tile.yield
    }
    each(%r: index, %a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
  return
}

// -----

func.func @f(%i: index, %x: tensor<64x32xf32, #tile.reg>, %y: tensor<32x1xf32, #tile.reg>, %memory: memref<?x64x32xf32>, %sums: memref<?x32xf32>, %counters: memref<8xi32>) {
  // expected-error@+1 {{region 'combine' must yield}}
  tile.join (%x) part(%i of %i at %i) rows(%i) memory(%memory) counters(%counters) step 16 : tensor<64x32xf32, #tile.reg> through memref<?x64x32xf32>, memref<8xi32>
    combine(%a: tensor<16x32xf32, #tile.reg>, %b: tensor<16x32xf32, #tile.reg>) {
      tile.yield %a, %a : tensor<16x32xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    }
    whole(%a: tensor<64x32xf32, #tile.reg>) {
      tile.yield
    }
    each(%r: index, %a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
  return
}

// -----

func.func @f(%i: index, %x: tensor<64x32xf32, #tile.reg>, %y: tensor<32x1xf32, #tile.reg>, %memory: memref<?x64x32xf32>, %sums: memref<?x32xf32>, %counters: memref<8xi32>) {
  // expected-error@+1 {{region 'whole' must have the arguments}}
  tile.join (%x) part(%i of %i at %i) rows(%i) memory(%memory) counters(%counters) step 16 : tensor<64x32xf32, #tile.reg> through memref<?x64x32xf32>, memref<8xi32>
    combine(%a: tensor<16x32xf32, #tile.reg>, %b: tensor<16x32xf32, #tile.reg>) {
      tile.yield %a : tensor<16x32xf32, #tile.reg>
    }
    whole(%a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
    each(%r: index, %a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
  return
}

// -----

func.func @f(%i: index, %x: tensor<64x32xf32, #tile.reg>, %y: tensor<32x1xf32, #tile.reg>, %memory: memref<?x64x32xf32>, %sums: memref<?x32xf32>, %counters: memref<8xi32>) {
  // expected-error@+1 {{region 'whole' must yield (), found}}
  tile.join (%x) part(%i of %i at %i) rows(%i) memory(%memory) counters(%counters) step 16 : tensor<64x32xf32, #tile.reg> through memref<?x64x32xf32>, memref<8xi32>
    combine(%a: tensor<16x32xf32, #tile.reg>, %b: tensor<16x32xf32, #tile.reg>) {
      tile.yield %a : tensor<16x32xf32, #tile.reg>
    }
    whole(%a: tensor<64x32xf32, #tile.reg>) {
      tile.yield %a : tensor<64x32xf32, #tile.reg>
    }
    each(%r: index, %a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
  return
}

// -----

func.func @f(%i: index, %x: tensor<64x32xf32, #tile.reg>, %y: tensor<32x1xf32, #tile.reg>, %memory: memref<?x64x32xf32>, %sums: memref<?x32xf32>, %counters: memref<8xi32>) {
  // expected-error@+1 {{region 'each' must have the arguments}}
  tile.join (%x) part(%i of %i at %i) rows(%i) memory(%memory) counters(%counters) step 16 : tensor<64x32xf32, #tile.reg> through memref<?x64x32xf32>, memref<8xi32>
    combine(%a: tensor<16x32xf32, #tile.reg>, %b: tensor<16x32xf32, #tile.reg>) {
      tile.yield %a : tensor<16x32xf32, #tile.reg>
    }
    whole(%a: tensor<64x32xf32, #tile.reg>) {
      tile.yield
    }
    each(%a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
  return
}

// -----

func.func @f(%i: index, %counters: memref<8xi32>) {
  // expected-error@+1 {{needs a state to join}}
  "tile.join"(%i, %i, %i, %i, %counters) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 0, 1, 0, 1>, step = 16 : i64}> ({
    "tile.yield"() : () -> ()
  }, {
    "tile.yield"() : () -> ()
  }, {
  ^bb0(%r: index):
    "tile.yield"() : () -> ()
  }) : (index, index, index, index, memref<8xi32>) -> ()
  return
}

// -----

func.func @f(%i: index, %counters: memref<8x8xi32>) {
  // expected-error@+1 {{counters must have one dimension, found 'memref<8x8xi32>'}}
  %last = tile.arrive %counters[%i] of %i : memref<8x8xi32>
  return
}

// -----

func.func @f(%i: index, %counters: memref<8xi32>) {
  %zero = arith.constant 0 : index
  // expected-error@+1 {{expected a positive number of arrivals, found 0}}
  %last = tile.arrive %counters[%i] of %zero : memref<8xi32>
  return
}

// -----

func.func @f(%i: index) {
  // expected-error@+1 {{region 'blocks' must have the arguments ('index'), found ('i32')}}
  %total, %first, %end, %group, %before = tile.take_share %i of %i over %i blocks(%n: i32) {
    tile.yield %i : index
  }
  return
}

// -----

func.func @f(%i: index) {
  // expected-error@+1 {{region 'blocks' must yield ('index'), found ()}}
  %total, %first, %end, %group, %before = tile.take_share %i of %i over %i blocks(%n: index) {
    tile.yield
  }
  return
}

// -----

func.func @f(%i: index, %x: tensor<64x32xf32, #tile.reg>, %memory: memref<?x0x32xf32>, %counters: memref<8xi32>) {
  // expected-error@+1 {{slots must have from 1 to 64 rows, found 'memref<?x0x32xf32>'}}
  tile.join (%x) part(%i of %i at %i) slots(%i) rows(%i) memory(%memory) counters(%counters) step 16 : tensor<64x32xf32, #tile.reg> through memref<?x0x32xf32>, memref<8xi32>
    combine(%a: tensor<16x32xf32, #tile.reg>, %b: tensor<16x32xf32, #tile.reg>) {
      tile.yield %a : tensor<16x32xf32, #tile.reg>
    }
    whole(%a: tensor<64x32xf32, #tile.reg>) {
      tile.yield
    }
    each(%r: index, %a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
  return
}

// -----

func.func @f(%i: index, %x: tensor<64x32xf32, #tile.reg>, %memory: memref<?x80x32xf32>, %counters: memref<8xi32>) {
  // expected-error@+1 {{slots must have from 1 to 64 rows, found 'memref<?x80x32xf32>'}}
  tile.join (%x) part(%i of %i at %i) slots(%i) rows(%i) memory(%memory) counters(%counters) step 16 : tensor<64x32xf32, #tile.reg> through memref<?x80x32xf32>, memref<8xi32>
    combine(%a: tensor<16x32xf32, #tile.reg>, %b: tensor<16x32xf32, #tile.reg>) {
      tile.yield %a : tensor<16x32xf32, #tile.reg>
    }
    whole(%a: tensor<64x32xf32, #tile.reg>) {
      tile.yield
    }
    each(%r: index, %a: tensor<16x32xf32, #tile.reg>) {
      tile.yield
    }
  return
}
