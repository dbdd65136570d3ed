// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @f(%n: index) {
  // expected-error@+1 {{schedule must be single, static, dynamic or shares, found 'lpt'}}
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
  }, {}, {}) : (index) -> ()
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

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{has 'per', which needs schedule 'shares', found 'static'}}
  tile.foreach_work %w to %n schedule(static) per(%n) {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{needs 'per' with schedule 'shares'}}
  tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %n schedule(shares) extent(%g: index) {
    tile.yield %g : index
  } do {
  }
  return
}

// -----

func.func @f(%n: index) {
  %zero = arith.constant 0 : index
  // expected-error@+1 {{'per' must be positive, found 0}}
  tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %n schedule(shares) per(%zero) extent(%g: index) {
    tile.yield %g : index
  } do {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{region 'do' must have the arguments ('index', 'index', 'index', 'index', 'index', 'index'), found ('index')}}
  tile.foreach_work %w to %n schedule(shares) per(%n) extent(%g: index) {
    tile.yield %g : index
  } do {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{needs a region 'extent' with schedule 'shares'}}
  tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %n schedule(shares) per(%n) {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{must have no region 'extent' without schedule 'shares'}}
  tile.foreach_work %w to %n schedule(static) extent(%g: index) {
    tile.yield %g : index
  } do {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{region 'extent' must have the arguments ('index'), found ('i32')}}
  tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %n schedule(shares) per(%n) extent(%g: i32) {
    tile.yield %n : index
  } do {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{region 'extent' must yield ('index'), found ()}}
  tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %n schedule(shares) per(%n) extent(%g: index) {
    tile.yield
  } do {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{must have no region 'tiles' without schedule 'shares'}}
  "tile.foreach_work"(%n) <{schedule = 1 : i32}> ({
  ^bb0(%w: index):
    "tile.yield"() : () -> ()
  }, {
  }, {
  ^bb0(%g: index):
    "tile.yield"(%g) : (index) -> ()
  }) : (index) -> ()
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{region 'tiles' must yield ('index'), found ()}}
  tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) tile(%t) to %n schedule(shares) per(%n) tiles(%g: index) {
    tile.yield
  } extent(%g: index, %of: index) {
    tile.yield %n : index
  } do {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{region 'extent' must have the arguments ('index', 'index'), found ('index')}}
  tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) tile(%t) to %n schedule(shares) per(%n) tiles(%g: index) {
    tile.yield %g : index
  } extent(%g: index) {
    tile.yield %n : index
  } do {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{region 'do' must have the arguments ('index', 'index', 'index', 'index', 'index', 'index', 'index'), found ('index', 'index', 'index', 'index', 'index', 'index')}}
  tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %n schedule(shares) per(%n) tiles(%g: index) {
    tile.yield %g : index
  } extent(%g: index, %of: index) {
    tile.yield %n : index
  } do {
  }
  return
}

// -----

func.func @f(%n: index, %i: i32) {
  // expected-error@+1 {{region 'extent' must yield ('index', 'index'), found ('index', 'i32')}}
  tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %n schedule(shares) per(%n) extent(%g: index) {
    tile.yield %n, %i : index, i32
  } do {
  }
  return
}
