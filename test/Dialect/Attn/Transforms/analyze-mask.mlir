// RUN: fovea-opt %s --attn-analyze-mask | FileCheck %s

!t = tensor<?x?x?x64xbf16>

// CHECK-LABEL: func.func @causal
// CHECK: kv_bounds(%b: index, %h: index, %i0: index, %i1: index)
// CHECK-DAG: %[[C0:.*]] = arith.constant 0
// CHECK-DAG: %[[C1:.*]] = arith.constant 1
// CHECK-DAG: %[[LAST:.*]] = arith.addi %i1, %[[C1]]
// CHECK-DAG: %[[FIRST:.*]] = arith.addi %i0, %[[C1]]
// CHECK-DAG: %[[N:.*]] = attn.key_length
// CHECK: %[[UB:.*]] = arith.minsi %[[LAST]], %[[N]]
// CHECK: %[[FE:.*]] = arith.minsi %[[FIRST]], %[[UB]]
// CHECK-NEXT: attn.yield %[[C0]], %[[C0]], %[[FE]], %[[UB]]
func.func @causal(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Without a mask there are no bounds.
// CHECK-LABEL: func.func @dense
// CHECK-NOT: kv_bounds
func.func @dense(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q : !t, !t, !t -> !t
  return %o : !t
}

// Conditions on data restrict nothing; the causal condition still does.
// CHECK-LABEL: func.func @documents
// CHECK: kv_bounds
// CHECK-NOT: tensor.extract
// CHECK: %[[C0:.*]] = arith.constant 0
// CHECK: %[[UB:.*]] = arith.minsi
// CHECK: attn.yield %[[C0]], %[[C0]], %[[C0]], %[[UB]]
func.func @documents(%q: !t, %doc: tensor<?xi32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%doc : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %doc: tensor<?xi32>) {
      %x = tensor.extract %doc[%i] : tensor<?xi32>
      %y = tensor.extract %doc[%j] : tensor<?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      %causal = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %same, %causal : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// A sum that wraps in i32 is unknown: with w near 2^31 no key is visible. This is
// decided at run time.
// CHECK-LABEL: func.func @may_wrap
// CHECK: kv_bounds({{.*}}, %[[W:.*]]: i32) {
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[W]]
// CHECK: %[[FIRST:.*]] = arith.addi %i0, %[[INDEX]]
// CHECK: %[[LAST:.*]] = arith.addi %i1, %[[INDEX]]
// CHECK: %[[FITS:.*]] = arith.cmpi sle, %[[LAST]], %c2147483647
// CHECK: arith.select %[[FITS]], %[[FIRST]], %c-2147483648
// CHECK: arith.select %[[FITS]], %[[LAST]], %c2147483647
func.func @may_wrap(%q: !t, %w: i32) -> !t {
  %o = attn.forward %q, %q, %q captures(%w : i32)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %w: i32) {
      %x = arith.index_cast %i : index to i32
      %y = arith.index_cast %j : index to i32
      %end = arith.addi %x, %w : i32
      %keep = arith.cmpi slt, %y, %end : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// A 64-bit limit is clamped, so that "no limit" does not overflow.
// CHECK-LABEL: func.func @no_limit
// CHECK: kv_bounds({{.*}}, %[[W:.*]]: i64) {
// CHECK-DAG: %[[BIG:.*]] = arith.constant 4294967296 : index
// CHECK-DAG: %[[INDEX:.*]] = arith.index_cast %[[W]] : i64 to index
// CHECK: %[[LEAST:.*]] = arith.maxsi %[[INDEX]]
// CHECK: %[[CUT:.*]] = arith.minsi %[[LEAST]], %[[BIG]]
// CHECK: arith.addi %{{.*}}, %[[CUT]]
func.func @no_limit(%q: !t, %w: i64) -> !t {
  %o = attn.forward %q, %q, %q captures(%w : i64)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %w: i64) {
      %d = arith.subi %j, %i : index
      %wide = arith.index_cast %d : index to i64
      %keep = arith.cmpi slt, %wide, %w : i64
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// The clamp is above the range of the other terms.
// CHECK-LABEL: func.func @scaled_no_limit
// CHECK: kv_bounds({{.*}}, %[[W:.*]]: index) {
// CHECK-DAG: %[[BIG:.*]] = arith.constant 1125899906842624 : index
// CHECK: %[[LEAST:.*]] = arith.maxsi %[[W]]
// CHECK: arith.minsi %[[LEAST]], %[[BIG]]
func.func @scaled_no_limit(%q: !t, %w: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%w : index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %w: index) {
      %scale = arith.constant 1048576 : index
      %x = arith.muli %j, %scale : index
      %keep = arith.cmpi slt, %x, %w : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Integers wider than 64 bits are unknown.
// CHECK-LABEL: func.func @wide
// CHECK: kv_bounds
// CHECK: %[[C0:.*]] = arith.constant 0
// CHECK: %[[N:.*]] = attn.key_length
// CHECK-NEXT: attn.yield %[[C0]], %[[C0]], %[[C0]], %[[N]]
func.func @wide(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %x = arith.index_cast %j : index to i64
      %y = arith.extsi %x : i64 to i128
      %c = arith.constant 5 : i128
      %keep = arith.cmpi slt, %y, %c : i128
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Existing bounds are kept.
// CHECK-LABEL: func.func @given
// CHECK: kv_bounds
// CHECK-NEXT: %[[N:.*]] = attn.key_length
// CHECK-NEXT: attn.yield %i0, %i1, %i1, %[[N]]
func.func @given(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sle, %i, %j : index
      attn.yield %keep : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      %n = attn.key_length
      attn.yield %i0, %i1, %i1, %n : index, index, index, index
    } : !t, !t, !t -> !t
  return %o : !t
}
