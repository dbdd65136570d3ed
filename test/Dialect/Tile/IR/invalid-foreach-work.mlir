// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @f(%n: index) {
  // expected-error@+1 {{schedule must be single, static or dynamic, found 'lpt'}}
  tile.foreach_work %w to %n schedule(lpt) {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{body must have one index argument, found ('i32')}}
  "tile.foreach_work"(%n) <{schedule = 0 : i32}> ({
  ^bb0(%w: i32):
    "tile.yield"() : () -> ()
  }) : (index) -> ()
  return
}

// -----

func.func @f(%n: index) {
  tile.foreach_work %w to %n schedule(static) {
    // expected-error@+1 {{in tile.foreach_work must yield nothing, found 'index'}}
    tile.yield %w : index
  }
  return
}
