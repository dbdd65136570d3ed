// A host's own gradients, and attention over parts of the keys put together.

!x = tensor<1x?x6x32xf16>
!t = tensor<1x?x2x32xf16>
!l = tensor<1x2x?xf32>

func.func @gradients(%q: !t, %k: !t, %v: !t) -> (!t, !t, !t, !t) {
  %o, %lse = attn.forward %q, %k, %v layout(bshd)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !l
  // The loss is half of the sum of O * O, so that dO is O.
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %o layout(bshd)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !l, !t -> !t, !t, !t
  return %o, %dq, %dk, %dv : !t, !t, !t, !t
}

func.func @whole(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v layout(bshd) : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

func.func @parts(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c30 = arith.constant 30 : index
  %rows = tensor.dim %k, %c1 : !t
  %rest = arith.subi %rows, %c30 : index
  %k0 = tensor.extract_slice %k[0, 0, 0, 0] [1, %c30, 2, 32] [1, 1, 1, 1] : !t to !t
  %v0 = tensor.extract_slice %v[0, 0, 0, 0] [1, %c30, 2, 32] [1, 1, 1, 1] : !t to !t
  %k1 = tensor.extract_slice %k[0, 30, 0, 0] [1, %rest, 2, 32] [1, 1, 1, 1] : !t to !t
  %v1 = tensor.extract_slice %v[0, 30, 0, 0] [1, %rest, 2, 32] [1, 1, 1, 1] : !t to !t
  %o0, %lse0 = attn.forward %q, %k0, %v0 layout(bshd) : !t, !t, !t -> !t, !l
  %o1, %lse1 = attn.forward %q, %k1, %v1 layout(bshd) : !t, !t, !t -> !t, !l
  %o, %lse = attn.merge (%o0, %lse0), (%o1, %lse1) layout(bshd) : !t, !l -> !t, !l
  return %o, %lse : !t, !l
}

func.func private @fill(%rows: index) -> !x {
  %t = tensor.generate %rows {
  ^bb0(%b: index, %i: index, %h: index, %e: index):
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
    %5 = arith.muli %4, %4 : index
    %6 = arith.remui %5, %m : index
    %7 = arith.subi %6, %half : index
    %8 = arith.index_cast %7 : index to i32
    %9 = arith.sitofp %8 : i32 to f16
    %10 = arith.constant 0.015625 : f16
    %11 = arith.mulf %9, %10 : f16
    tensor.yield %11 : f16
  } : !x
  return %t : !x
}

// The sum over rows and columns of a head of x * y; and of |x * y|.
func.func private @dot(%x: !t, %y: !t, %h: index) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = arith.constant 32 : index
  %zero = arith.constant 0.0 : f64
  %rows = tensor.dim %x, %c1 : !t
  %sums:2 = scf.for %i = %c0 to %rows step %c1 iter_args(%s0 = %zero, %a0 = %zero) -> (f64, f64) {
    %row:2 = scf.for %e = %c0 to %d step %c1 iter_args(%s1 = %s0, %a1 = %a0) -> (f64, f64) {
      %a = tensor.extract %x[%c0, %i, %h, %e] : !t
      %b = tensor.extract %y[%c0, %i, %h, %e] : !t
      %wide_a = arith.extf %a : f16 to f64
      %wide_b = arith.extf %b : f16 to f64
      %p = arith.mulf %wide_a, %wide_b : f64
      %size = math.absf %p : f64
      %s2 = arith.addf %s1, %p : f64
      %a2 = arith.addf %a1, %size : f64
      scf.yield %s2, %a2 : f64, f64
    }
    scf.yield %row#0, %row#1 : f64, f64
  }
  return %sums#0, %sums#1 : f64, f64
}

// Whether both sums are close beside the sum of their parts' sizes.
func.func private @close(%x: f64, %y: f64, %size: f64) -> i1 {
  %bound = arith.constant 0.002 : f64
  %difference = arith.subf %x, %y : f64
  %error = math.absf %difference : f64
  %most = arith.mulf %size, %bound : f64
  %is = arith.cmpf ole, %error, %most : f64
  return %is : i1
}

func.func private @printI64(i64)
func.func private @printNewline()
func.func private @print(%x: i1) {
  %number = arith.extui %x : i1 to i64
  call @printI64(%number) : (i64) -> ()
  call @printNewline() : () -> ()
  return
}

// Scores that all grow by the same factor change as much by Q as by K; so Q * dQ and
// K * dK have one sum. O is linear in V: so V * dV and O * dO have one, too. Neither is
// small beside its parts.
func.func private @check_gradients(%q: !t, %k: !t, %v: !t) {
  %c1 = arith.constant 1 : index
  %least = arith.constant 1.0e-3 : f64
  %o, %dq, %dk, %dv = call @gradients(%q, %k, %v) : (!t, !t, !t) -> (!t, !t, !t, !t)
  %by_q, %size_q = call @dot(%q, %dq, %c1) : (!t, !t, index) -> (f64, f64)
  %by_k, %size_k = call @dot(%k, %dk, %c1) : (!t, !t, index) -> (f64, f64)
  %by_v, %size_v = call @dot(%v, %dv, %c1) : (!t, !t, index) -> (f64, f64)
  %by_o, %size_o = call @dot(%o, %o, %c1) : (!t, !t, index) -> (f64, f64)
  %same = call @close(%by_q, %by_k, %size_q) : (f64, f64, f64) -> i1
  %linear = call @close(%by_v, %by_o, %size_v) : (f64, f64, f64) -> i1
  %there = arith.cmpf oge, %size_k, %least : f64
  %fine = arith.andi %same, %linear : i1
  %all = arith.andi %fine, %there : i1
  call @print(%all) : (i1) -> ()
  return
}

func.func private @check_parts(%q: !t, %k: !t, %v: !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %d = arith.constant 32 : index
  %zero = arith.constant 0.0 : f64
  %bound = arith.constant 0.001 : f64
  %rows = tensor.dim %q, %c1 : !t
  %o, %lse = call @whole(%q, %k, %v) : (!t, !t, !t) -> (!t, !l)
  %o_parts, %lse_parts = call @parts(%q, %k, %v) : (!t, !t, !t) -> (!t, !l)
  %most = scf.for %h = %c0 to %c2 step %c1 iter_args(%m0 = %zero) -> f64 {
    %mi = scf.for %i = %c0 to %rows step %c1 iter_args(%m1 = %m0) -> f64 {
      %l0 = tensor.extract %lse[%c0, %h, %i] : !l
      %l1 = tensor.extract %lse_parts[%c0, %h, %i] : !l
      %ld = arith.subf %l0, %l1 : f32
      %la = math.absf %ld : f32
      %lw = arith.extf %la : f32 to f64
      %ml = arith.maximumf %m1, %lw : f64
      %me = scf.for %e = %c0 to %d step %c1 iter_args(%m2 = %ml) -> f64 {
        %x = tensor.extract %o[%c0, %i, %h, %e] : !t
        %y = tensor.extract %o_parts[%c0, %i, %h, %e] : !t
        %difference = arith.subf %x, %y : f16
        %error = math.absf %difference : f16
        %wide = arith.extf %error : f16 to f64
        %m3 = arith.maximumf %m2, %wide : f64
        scf.yield %m3 : f64
      }
      scf.yield %me : f64
    }
    scf.yield %mi : f64
  }
  %fine = arith.cmpf ole, %most, %bound : f64
  call @print(%fine) : (i1) -> ()
  return
}

func.func @main() {
  %rows = arith.constant 70 : index
  %x = call @fill(%rows) : (index) -> !x
  %q = tensor.extract_slice %x[0, 0, 0, 0] [1, %rows, 2, 32] [1, 1, 1, 1] : !x to !t
  %k = tensor.extract_slice %x[0, 0, 2, 0] [1, %rows, 2, 32] [1, 1, 1, 1] : !x to !t
  %v = tensor.extract_slice %x[0, 0, 4, 0] [1, %rows, 2, 32] [1, 1, 1, 1] : !x to !t
  call @check_gradients(%q, %k, %v) : (!t, !t, !t) -> ()
  call @check_parts(%q, %k, %v) : (!t, !t, !t) -> ()
  return
}
