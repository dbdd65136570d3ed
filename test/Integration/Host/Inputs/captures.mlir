// Captured values of host code: a constant, a scalar, a size; queries, keys and values
// as parts of one tensor, whose strides the launch uses directly; two results.

!x = tensor<1x?x6x32xf16>
!t = tensor<1x?x2x32xf16>
!l = tensor<1x2x?xf32>
!b = tensor<3xf32>

// Attention in a window, with a bias that a key's number modulo 3 chooses.
func.func @window(%x: !x, %width: index, %factor: f32) -> (!t, !l) {
  %table = arith.constant dense<[0.5, -0.5, 1.0]> : !b
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c1 : !x
  %q = tensor.extract_slice %x[0, 0, 0, 0] [1, %rows, 2, 32] [1, 1, 1, 1] : !x to !t
  %k = tensor.extract_slice %x[0, 0, 2, 0] [1, %rows, 2, 32] [1, 1, 1, 1] : !x to !t
  %v = tensor.extract_slice %x[0, 0, 4, 0] [1, %rows, 2, 32] [1, 1, 1, 1] : !x to !t
  %o, %lse = attn.forward %q, %k, %v layout(bshd) captures(%table, %width, %factor : !b, index, f32)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: !b, %w: index, %f: f32) {
      %c3 = arith.constant 3 : index
      %which = arith.remui %j, %c3 : index
      %value = tensor.extract %t[%which] : !b
      %scaled = arith.mulf %value, %f : f32
      %r = arith.addf %s, %scaled : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: !b, %w: index, %f: f32) {
      %d = arith.subi %i, %j : index
      %zero = arith.constant 0 : index
      %after = arith.cmpi sge, %d, %zero : index
      %near = arith.cmpi slt, %d, %w : index
      %keep = arith.andi %after, %near : i1
      attn.yield %keep : i1
    }
    : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

// x[0, row, head, e] in f64.
func.func private @at(%x: !x, %row: index, %head: index, %e: index) -> f64 {
  %c0 = arith.constant 0 : index
  %0 = tensor.extract %x[%c0, %row, %head, %e] : !x
  %1 = arith.extf %0 : f16 to f64
  return %1 : f64
}

func.func private @score(%x: !x, %width: index, %factor: f32, %h: index, %i: index, %j: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %d = arith.constant 32 : index
  %zero = arith.constant 0.0 : f64
  %hk = arith.addi %h, %c2 : index
  %dot = scf.for %e = %c0 to %d step %c1 iter_args(%acc = %zero) -> f64 {
    %a = func.call @at(%x, %i, %h, %e) : (!x, index, index, index) -> f64
    %b = func.call @at(%x, %j, %hk, %e) : (!x, index, index, index) -> f64
    %p = arith.mulf %a, %b : f64
    %next = arith.addf %acc, %p : f64
    scf.yield %next : f64
  }
  %scale = arith.constant 0.17677669529663689 : f64
  %scaled = arith.mulf %dot, %scale : f64
  %table = arith.constant dense<[0.5, -0.5, 1.0]> : tensor<3xf64>
  %which = arith.remui %j, %c3 : index
  %value = tensor.extract %table[%which] : tensor<3xf64>
  %f = arith.extf %factor : f32 to f64
  %bias = arith.mulf %value, %f : f64
  %s = arith.addf %scaled, %bias : f64
  return %s : f64
}

// The error of a row: of its sum of probabilities, and of the weighted sum at e.
func.func private @errors(%o: !t, %lse: !l, %x: !x, %width: index, %factor: f32, %h: index, %i: index, %e: index) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f64
  %end = arith.addi %i, %c1 : index
  %least = arith.subi %end, %width : index
  %begin = arith.maxsi %least, %c0 : index
  %hv = arith.addi %h, %c4 : index
  %total, %weighted = scf.for %j = %begin to %end step %c1 iter_args(%t = %zero, %w = %zero) -> (f64, f64) {
    %score = func.call @score(%x, %width, %factor, %h, %i, %j) : (!x, index, f32, index, index, index) -> f64
    %weight = math.exp %score : f64
    %value = func.call @at(%x, %j, %hv, %e) : (!x, index, index, index) -> f64
    %part = arith.mulf %weight, %value : f64
    %t1 = arith.addf %t, %weight : f64
    %w1 = arith.addf %w, %part : f64
    scf.yield %t1, %w1 : f64, f64
  }
  %want = arith.divf %weighted, %total : f64
  %got = tensor.extract %o[%c0, %i, %h, %e] : !t
  %got64 = arith.extf %got : f16 to f64
  %wrong = arith.subf %got64, %want : f64
  %error = math.absf %wrong : f64
  %sum = tensor.extract %lse[%c0, %h, %i] : !l
  %sum64 = arith.extf %sum : f32 to f64
  %log = math.log %total : f64
  %off = arith.subf %sum64, %log : f64
  %offset = math.absf %off : f64
  return %error, %offset : f64, f64
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

func.func private @printI64(i64)
func.func private @printNewline()

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %rows = arith.constant 70 : index
  %width = arith.constant 20 : index
  %factor = arith.constant 0.75 : f32
  %d = arith.constant 32 : index
  %zero = arith.constant 0.0 : f64
  %x = call @fill(%rows) : (index) -> !x
  %o, %lse = call @window(%x, %width, %factor) : (!x, index, f32) -> (!t, !l)
  %most:2 = scf.for %h = %c0 to %c2 step %c1 iter_args(%a0 = %zero, %b0 = %zero) -> (f64, f64) {
    %mi:2 = scf.for %i = %c0 to %rows step %c1 iter_args(%a1 = %a0, %b1 = %b0) -> (f64, f64) {
      %me:2 = scf.for %e = %c0 to %d step %c1 iter_args(%a2 = %a1, %b2 = %b1) -> (f64, f64) {
        %error, %offset = func.call @errors(%o, %lse, %x, %width, %factor, %h, %i, %e)
          : (!t, !l, !x, index, f32, index, index, index) -> (f64, f64)
        %a3 = arith.maximumf %a2, %error : f64
        %b3 = arith.maximumf %b2, %offset : f64
        scf.yield %a3, %b3 : f64, f64
      }
      scf.yield %me#0, %me#1 : f64, f64
    }
    scf.yield %mi#0, %mi#1 : f64, f64
  }
  %bound = arith.constant 0.0078125 : f64
  %o_is = arith.cmpf ole, %most#0, %bound : f64
  %lse_is = arith.cmpf ole, %most#1, %bound : f64
  %o_number = arith.extui %o_is : i1 to i64
  %lse_number = arith.extui %lse_is : i1 to i64
  call @printI64(%o_number) : (i64) -> ()
  call @printNewline() : () -> ()
  call @printI64(%lse_number) : (i64) -> ()
  call @printNewline() : () -> ()
  return
}
