// Masks for which the ranges are optimal: mask_bounds.py compares them with the masks
// evaluated at every query and key.
//
// RUN: fovea-opt %s --attn-analyze-mask --mlir-print-op-generic | %python %S/Inputs/mask_bounds.py check --exact 1 | FileCheck %s
// CHECK: masks hold

!t = tensor<?x?x?x16xbf16>
!lens = tensor<?xi32>

func.func @causal(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @causal_bottom_right(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %m = attn.query_length
      %n = attn.key_length
      %p = arith.subi %j, %n : index
      %r = arith.subi %i, %m : index
      %keep = arith.cmpi sle, %p, %r : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @causal_window(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %zero = arith.constant 0 : index
      %c = arith.constant 9 : index
      %d = arith.subi %i, %j : index
      %a = arith.cmpi slt, %d, %c : index
      %e = arith.cmpi sge, %d, %zero : index
      %keep = arith.andi %a, %e : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @unsigned_window(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %c = arith.constant 9 : index
      %d = arith.subi %i, %j : index
      %keep = arith.cmpi ult, %d, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @two_sided_window(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %c = arith.constant 6 : i32
      %ii = arith.index_cast %i : index to i32
      %jj = arith.index_cast %j : index to i32
      %left = arith.subi %ii, %c : i32
      %right = arith.addi %ii, %c : i32
      %a = arith.cmpi sge, %jj, %left : i32
      %e = arith.cmpi sle, %jj, %right : i32
      %keep = arith.andi %a, %e : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @captured_window(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %one = arith.constant 1 : index
      %size = arith.maxsi %x, %one : index
      %d = arith.subi %i, %j : index
      %a = arith.cmpi slt, %d, %size : index
      %e = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %a, %e : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @constant_prefix(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %c = arith.constant 17 : index
      %a = arith.cmpi slt, %j, %c : index
      %e = arith.cmpi sge, %i, %j : index
      %keep = arith.ori %a, %e : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @captured_prefix(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %a = arith.cmpi slt, %j, %x : index
      %e = arith.cmpi sge, %i, %j : index
      %keep = arith.ori %a, %e : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @batch_prefix(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %p = tensor.extract %l[%b] : tensor<?xi32>
      %jj = arith.index_cast %j : index to i32
      %a = arith.cmpi sgt, %p, %jj : i32
      %e = arith.cmpi sge, %i, %j : index
      %keep = arith.ori %e, %a : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @hidden_suffix(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %true = arith.constant true
      %p = tensor.extract %l[%b] : tensor<?xi32>
      %jj = arith.index_cast %j : index to i32
      %a = arith.cmpi sge, %jj, %p : i32
      %not = arith.xori %a, %true : i1
      %e = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %e, %not : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @chunked(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %c = arith.constant 16 : index
      %p = arith.divsi %i, %c : index
      %s = arith.floordivsi %j, %c : index
      %a = arith.cmpi eq, %p, %s : index
      %e = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %a, %e : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @captured_chunk(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %p = tensor.extract %l[%b] : tensor<?xi32>
      %one = arith.constant 1 : i32
      %c = arith.maxsi %p, %one : i32
      %ii = arith.index_cast %i : index to i32
      %jj = arith.index_cast %j : index to i32
      %q = arith.divsi %ii, %c : i32
      %r = arith.divsi %jj, %c : i32
      %keep = arith.cmpi eq, %q, %r : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @window_of_chunks(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %three = arith.constant 3 : index
      %c = arith.constant 8 : index
      %two = arith.constant 2 : index
      %p = arith.shrui %i, %three : index
      %s = arith.shrui %j, %three : index
      %d = arith.subi %p, %s : index
      %a = arith.cmpi slt, %d, %two : index
      %e = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %a, %e : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @scaled(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %two = arith.constant 2 : index
      %p = arith.muli %j, %two : index
      %keep = arith.cmpi sle, %p, %i : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @per_head(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %zero = arith.constant 0 : index
      %three = arith.constant 3 : index
      %reach = arith.muli %h, %three : index
      %d = arith.subi %i, %j : index
      %a = arith.cmpi sle, %d, %reach : index
      %e = arith.cmpi sge, %d, %zero : index
      %keep = arith.andi %a, %e : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @uniform_switch(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %zero = arith.constant 0 : index
      %first = arith.cmpi eq, %h, %zero : index
      %c = arith.constant 9 : index
      %d = arith.subi %i, %j : index
      %a = arith.cmpi sle, %d, %c : index
      %e = arith.cmpi sge, %d, %zero : index
      %local = arith.andi %a, %e : i1
      %keep = arith.select %first, %e, %local : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @sinks_and_causal(%q: !t, %lens: !lens, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%lens, %w : !lens, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: !lens, %x: index) {
      %c = arith.constant 4 : index
      %a = arith.cmpi slt, %j, %c : index
      %e = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %a, %e : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

