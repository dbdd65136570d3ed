// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @step(%a: index) {
  // expected-error@+1 {{step must be positive, found 0}}
  tile.for_blocks %a to %a step 0 full(%a, %a)
    do(%j: index, %partial: i1) {
      tile.yield
    }
  return
}

// -----

func.func @carried(%a: index, %x: i32) {
  // expected-error@+1 {{body must have arguments ('index', 'i1', 'i32'), found ('index', 'i1')}}
  %r = tile.for_blocks %a to %a step 16 full(%a, %a) carry(%x : i32)
    do(%j: index, %partial: i1) {
      tile.yield %x : i32
    }
  return
}

// -----

func.func @yielded(%a: index, %x: i32) {
  %r = tile.for_blocks %a to %a step 16 full(%a, %a) carry(%x : i32)
    do(%j: index, %partial: i1, %y: i32) {
      // expected-error@+1 {{in the body must yield ('i32'), found ()}}
      tile.yield
    }
  return
}

// -----

func.func @results(%a: index, %x: i32) {
  // expected-error@+1 {{results must have the types of the carried values, ('i32'), found ()}}
  "tile.for_blocks"(%a, %a, %a, %a, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1>, step = 16 : i64}> ({
  ^bb0(%j: index, %partial: i1, %y: i32):
    tile.yield %y : i32
  }, {}) : (index, index, index, index, i32) -> ()
  return
}

// -----

func.func @form(%a: index) {
  // expected-error@+1 {{without 'visit' must have lower, upper, full_lower and full_upper, and no count, masked or init}}
  "tile.for_blocks"(%a, %a) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, step = 16 : i64}> ({
  ^bb0(%j: index, %partial: i1):
    tile.yield
  }, {}) : (index, index) -> ()
  return
}

// -----

func.func @visit(%n: index, %w: i32) {
  tile.for_blocks blocks %n masked(%n) init(%w : i32) step 32
    visit(%i: index, %word: i32) {
      // expected-error@+1 {{in 'visit' must yield ('index', 'i32'), found ('index')}}
      tile.yield %i : index
    }
    do(%j: index, %partial: i1) {
      tile.yield
    }
  return
}

// -----

func.func @order(%n: index) {
  // expected-error@+1 {{with 'visit' must have count and masked, and no bounds and no order}}
  "tile.for_blocks"(%n, %n) <{descending, operandSegmentSizes = array<i32: 0, 0, 0, 0, 1, 1, 0, 0>, step = 16 : i64}> ({
  ^bb0(%j: index, %partial: i1):
    tile.yield
  }, {
  ^bb0(%i: index):
    tile.yield %i : index
  }) : (index, index) -> ()
  return
}

// -----

func.func @unbounded(%n: index) -> i1 {
  // expected-error@+1 {{needs a bound, 'below' or 'from'}}
  %0 = "tile.is_partial"(%n) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (index) -> i1
  return %0 : i1
}

// -----

func.func @two_orders(%a: index) {
  // expected-error@+1 {{has both 'descending' and 'at_least_once': 'descending' already runs at least once}}
  "tile.for_blocks"(%a, %a, %a, %a) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, step = 16 : i64, descending, atLeastOnce}> ({
  ^bb0(%j: index, %partial: i1):
    tile.yield
  }, {
  }) : (index, index, index, index) -> ()
  return
}

// -----

func.func @of_loops_alone(%a: index) {
  // expected-error@+1 {{'at_least_once' is supported on tile.for_blocks only; 'descending' already runs at least once}}
  %m, %l, %acc = tile.softmax_sum %a to %a step 64 at_least_once full(%a, %a) scale(1.0)
  return
}
