// A host's program: attention with a bias for each key in the middle of a function, a
// reference in f64, and a main function that compares the two for two lengths.

!t = tensor<?x?x?x32xf16>
!b = tensor<?xf32>

// out = attention(2 x, k, v) + x, causal.
func.func @layer(%x: !t, %k: !t, %v: !t, %bias: !b) -> !t {
  %q = arith.addf %x, %x : !t
  %o = attn.forward %q, %k, %v captures(%bias : !b)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %values: !b) {
      %value = tensor.extract %values[%j] : !b
      %biased = arith.addf %s, %value : f32
      attn.yield %biased : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %values: !b) {
      %causal = arith.cmpi sge, %i, %j : index
      attn.yield %causal : i1
    }
    : !t, !t, !t -> !t
  %r = arith.addf %o, %x : !t
  return %r : !t
}

// The dot product of two rows.
func.func private @dot(%q: !t, %k: !t, %b: index, %h: index, %i: index, %j: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = arith.constant 32 : index
  %zero = arith.constant 0.0 : f64
  %sum = scf.for %e = %c0 to %d step %c1 iter_args(%acc = %zero) -> f64 {
    %a = tensor.extract %q[%b, %h, %i, %e] : !t
    %c = tensor.extract %k[%b, %h, %j, %e] : !t
    %a64 = arith.extf %a : f16 to f64
    %c64 = arith.extf %c : f16 to f64
    %p = arith.mulf %a64, %c64 : f64
    %next = arith.addf %acc, %p : f64
    scf.yield %next : f64
  }
  return %sum : f64
}

// Element e of the layer's row i, by sums over the keys up to i.
func.func private @expected(%x: !t, %k: !t, %v: !t, %bias: !b, %b: index, %h: index, %i: index, %e: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  // 2 / sqrt(32): q is x twice.
  %scale = arith.constant 0.35355339059327379 : f64
  %end = arith.addi %i, %c1 : index
  %total, %weighted = scf.for %j = %c0 to %end step %c1 iter_args(%t = %zero, %w = %zero) -> (f64, f64) {
    %dot = func.call @dot(%x, %k, %b, %h, %i, %j) : (!t, !t, index, index, index, index) -> f64
    %scaled = arith.mulf %dot, %scale : f64
    %value = tensor.extract %bias[%j] : !b
    %value64 = arith.extf %value : f32 to f64
    %score = arith.addf %scaled, %value64 : f64
    %weight = math.exp %score : f64
    %element = tensor.extract %v[%b, %h, %j, %e] : !t
    %element64 = arith.extf %element : f16 to f64
    %part = arith.mulf %weight, %element64 : f64
    %t1 = arith.addf %t, %weight : f64
    %w1 = arith.addf %w, %part : f64
    scf.yield %t1, %w1 : f64, f64
  }
  %mean = arith.divf %weighted, %total : f64
  %residual = tensor.extract %x[%b, %h, %i, %e] : !t
  %residual64 = arith.extf %residual : f16 to f64
  %r = arith.addf %mean, %residual64 : f64
  return %r : f64
}

// The largest difference of %r from the expected result.
func.func private @error(%r: !t, %x: !t, %k: !t, %v: !t, %bias: !b) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %d = arith.constant 32 : index
  %zero = arith.constant 0.0 : f64
  %batch = tensor.dim %r, %c0 : !t
  %heads = tensor.dim %r, %c1 : !t
  %rows = tensor.dim %r, %c2 : !t
  %m = scf.for %b = %c0 to %batch step %c1 iter_args(%mb = %zero) -> f64 {
    %mh = scf.for %h = %c0 to %heads step %c1 iter_args(%m0 = %mb) -> f64 {
      %mi = scf.for %i = %c0 to %rows step %c1 iter_args(%m1 = %m0) -> f64 {
        %me = scf.for %e = %c0 to %d step %c1 iter_args(%m2 = %m1) -> f64 {
          %want = func.call @expected(%x, %k, %v, %bias, %b, %h, %i, %e)
            : (!t, !t, !t, !b, index, index, index, index) -> f64
          %got = tensor.extract %r[%b, %h, %i, %e] : !t
          %got64 = arith.extf %got : f16 to f64
          %difference = arith.subf %got64, %want : f64
          %size = math.absf %difference : f64
          // A NaN stays.
          %most = arith.maximumf %m2, %size : f64
          scf.yield %most : f64
        }
        scf.yield %me : f64
      }
      scf.yield %mi : f64
    }
    scf.yield %mh : f64
  }
  return %m : f64
}

// Numbers from -1 to 1 that look like none in particular.
func.func private @fill(%rows: index, %seed: index) -> !t {
  %batch = arith.constant 2 : index
  %heads = arith.constant 2 : index
  %t = tensor.generate %batch, %heads, %rows {
  ^bb0(%b: index, %h: index, %i: index, %e: index):
    %f0 = arith.constant 37 : index
    %f1 = arith.constant 11 : index
    %f2 = arith.constant 101 : index
    %m = arith.constant 127 : index
    %half = arith.constant 63 : index
    %0 = arith.muli %i, %f0 : index
    %1 = arith.muli %e, %f1 : index
    %2 = arith.muli %h, %f2 : index
    %3 = arith.addi %0, %1 : index
    %4 = arith.addi %2, %3 : index
    %5 = arith.addi %4, %b : index
    %6 = arith.addi %5, %seed : index
    %7 = arith.muli %6, %6 : index
    %8 = arith.remui %7, %m : index
    %9 = arith.subi %8, %half : index
    %10 = arith.index_cast %9 : index to i32
    %11 = arith.sitofp %10 : i32 to f16
    %12 = arith.constant 0.015625 : f16
    %13 = arith.mulf %11, %12 : f16
    tensor.yield %13 : f16
  } : !t
  return %t : !t
}

func.func private @biases(%keys: index) -> !b {
  %t = tensor.generate %keys {
  ^bb0(%j: index):
    %m = arith.constant 7 : index
    %0 = arith.remui %j, %m : index
    %1 = arith.index_cast %0 : index to i32
    %2 = arith.sitofp %1 : i32 to f32
    %3 = arith.constant 0.25 : f32
    %4 = arith.mulf %2, %3 : f32
    tensor.yield %4 : f32
  } : !b
  return %t : !b
}

// 1 if the layer is within 2^-7 of the expected result for that many rows.
func.func private @check(%rows: index) -> i64 {
  %s0 = arith.constant 3 : index
  %s1 = arith.constant 50 : index
  %s2 = arith.constant 91 : index
  %x = call @fill(%rows, %s0) : (index, index) -> !t
  %k = call @fill(%rows, %s1) : (index, index) -> !t
  %v = call @fill(%rows, %s2) : (index, index) -> !t
  %bias = call @biases(%rows) : (index) -> !b
  %r = call @layer(%x, %k, %v, %bias) : (!t, !t, !t, !b) -> !t
  %error = call @error(%r, %x, %k, %v, %bias) : (!t, !t, !t, !t, !b) -> f64
  %bound = arith.constant 0.0078125 : f64
  %is = arith.cmpf ole, %error, %bound : f64
  %number = arith.extui %is : i1 to i64
  return %number : i64
}

func.func private @printI64(i64)
func.func private @printNewline()

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %base = arith.constant 24 : index
  // One launch after another, in a loop of the host's.
  scf.for %n = %c0 to %c2 step %c1 {
    %more = arith.muli %n, %base : index
    %rows = arith.addi %more, %base : index
    %ok = func.call @check(%rows) : (index) -> i64
    func.call @printI64(%ok) : (i64) -> ()
    func.call @printNewline() : () -> ()
  }
  return
}
