// Interval semantics of each op: bounds are valid, and the predicates of 8 by 8
// blocks are exact.
//
// RUN: fovea-opt %s --attn-analyze-mask -o %t.mlir
// RUN: fovea-run %t.mlir --entry=ops --random=1 --check-kv-bounds=8 --check-kv-classify=8x8,exact
//
// Sums that wrap for some keys of a block only have an unknown value: not exact.
// RUN: fovea-run %t.mlir --entry=wrapping_sums --random=1 --check-kv-classify=8x8
// RUN: not fovea-run %t.mlir --entry=wrapping_sums --random=1 --check-kv-classify=8x8,exact 2>&1 | FileCheck %s
// CHECK: keys 40 to 47 {{.*}} claims that some keys are visible, but none are

!t = tensor<1x4x64x8xf32>

func.func @ops(%q: !t) -> !t {
  // Products.
  %o0 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant -3 : index
      %x = arith.muli %i, %c : index
      %y = arith.constant -100 : index
      %keep = arith.cmpi sge, %x, %y : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Product of coordinates.
  %o1 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 900 : index
      %x = arith.muli %i, %j : index
      %keep = arith.cmpi slt, %x, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Products of both signs.
  %o2 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %t = arith.constant 30 : index
      %c = arith.constant -200 : index
      %a = arith.subi %i, %t : index
      %d = arith.subi %j, %t : index
      %x = arith.muli %a, %d : index
      %keep = arith.cmpi slt, %x, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Negative divisor.
  %o3 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant -7 : index
      %c = arith.constant -4 : index
      %d = arith.subi %j, %i : index
      %x = arith.floordivsi %d, %n : index
      %keep = arith.cmpi sle, %x, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Truncating division.
  %o4 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 6 : index
      %zero = arith.constant 0 : index
      %d = arith.subi %j, %i : index
      %x = arith.divsi %d, %n : index
      %keep = arith.cmpi eq, %x, %zero : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Ceiling division.
  %o5 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 5 : index
      %c = arith.constant -2 : index
      %d = arith.subi %j, %i : index
      %x = arith.ceildivsi %d, %n : index
      %keep = arith.cmpi sgt, %x, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Varying divisor.
  %o6 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 3 : index
      %one = arith.constant 1 : index
      %d = arith.addi %i, %one : index
      %x = arith.divui %j, %d : index
      %keep = arith.cmpi sge, %x, %n : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Remainder.
  %o7 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 24 : index
      %c = arith.constant 8 : index
      %x = arith.remui %j, %n : index
      %keep = arith.cmpi ult, %x, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Negative remainder.
  %o8 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 24 : index
      %c = arith.constant -8 : index
      %d = arith.subi %j, %i : index
      %x = arith.remsi %d, %n : index
      %keep = arith.cmpi slt, %x, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Shifts.
  %o9 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 3 : index
      %one = arith.constant 1 : index
      %d = arith.subi %j, %i : index
      %x = arith.shrsi %d, %n : index
      %y = arith.shli %x, %one : index
      %c = arith.constant -4 : index
      %keep = arith.cmpi eq, %y, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Shift by the head.
  %o10 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %four = arith.constant 4 : index
      %n = arith.remui %h, %four : index
      %x = arith.shrui %j, %n : index
      %y = arith.shrui %i, %n : index
      %keep = arith.cmpi eq, %x, %y : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Low bits.
  %o11 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 31 : index
      %c = arith.constant 24 : index
      %d = arith.subi %j, %i : index
      %x = arith.andi %d, %n : index
      %keep = arith.cmpi uge, %x, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Exclusive or.
  %o12 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 8 : index
      %c = arith.constant 2 : index
      %x = arith.divui %i, %n : index
      %y = arith.divui %j, %n : index
      %z = arith.xori %x, %y : index
      %keep = arith.cmpi ule, %z, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Bits of a block's interval.
  %o13 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 3 : index
      %five = arith.constant 5 : index
      %x = arith.shrui %i, %n : index
      %y = arith.shrui %j, %n : index
      %z = arith.andi %x, %y : index
      %u = arith.ori %x, %y : index
      %a = arith.cmpi eq, %z, %x : index
      %e = arith.cmpi ule, %u, %five : index
      %keep = arith.ori %a, %e : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Minimum and maximum.
  %o14 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 40 : index
      %x = arith.minsi %i, %j : index
      %y = arith.maxui %i, %n : index
      %z = arith.constant 17 : index
      %a = arith.cmpi sgt, %x, %z : index
      %e = arith.cmpi ule, %y, %n : index
      %keep = arith.xori %a, %e : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Absolute value.
  %o15 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 9 : i32
      %x = arith.index_cast %i : index to i32
      %y = arith.index_cast %j : index to i32
      %d = arith.subi %x, %y : i32
      %a = math.absi %d : i32
      %keep = arith.cmpi sle, %a, %n : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Bit count.
  %o16 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 8 : index
      %x = arith.divui %i, %n : index
      %y = arith.divui %j, %n : index
      %z = arith.xori %x, %y : index
      %w = arith.index_cast %z : index to i32
      %a = math.ctpop %w : i32
      %one = arith.constant 1 : i32
      %keep = arith.cmpi ule, %a, %one : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Sums of narrow integers.
  %o17 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 60 : i8
      %x = arith.index_cast %j : index to i8
      %y = arith.addi %x, %n : i8
      %zero = arith.constant 0 : i8
      %keep = arith.cmpi sge, %y, %zero : i8
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Unsigned comparison.
  %o18 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %d = arith.subi %i, %j : index
      %n = arith.constant -16 : index
      %keep = arith.cmpi ugt, %d, %n : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Unsigned extension.
  %o19 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %x = arith.index_cast %i : index to i8
      %y = arith.index_cast %j : index to i8
      %d = arith.subi %x, %y : i8
      %u = arith.extui %d : i8 to i32
      %n = arith.constant 200 : i32
      %keep = arith.cmpi slt, %u, %n : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Select.
  %o20 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 24 : index
      %m = arith.constant 8 : index
      %a = arith.cmpi slt, %i, %n : index
      %w = arith.select %a, %m, %n : index
      %x = arith.addi %j, %w : index
      %keep = arith.cmpi sge, %x, %i : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Conditions as integers.
  %o21 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 24 : index
      %a = arith.cmpi slt, %i, %n : index
      %c = arith.cmpi slt, %j, %n : index
      %x = arith.extui %a : i1 to i32
      %y = arith.extsi %c : i1 to i32
      %s = arith.addi %x, %y : i32
      %zero = arith.constant 0 : i32
      %keep = arith.cmpi eq, %s, %zero : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Comparison of conditions.
  %o22 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 24 : index
      %a = arith.cmpi slt, %i, %n : index
      %c = arith.cmpi slt, %j, %n : index
      %keep = arith.cmpi ult, %a, %c : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  // Unequal.
  %o23 = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 16 : index
      %x = arith.divui %i, %n : index
      %y = arith.divui %j, %n : index
      %keep = arith.cmpi ne, %x, %y : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o23 : !t
}

func.func @wrapping_sums(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 90 : i8
      %x = arith.index_cast %j : index to i8
      %y = arith.addi %x, %n : i8
      %zero = arith.constant 0 : i8
      %keep = arith.cmpi sge, %y, %zero : i8
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
