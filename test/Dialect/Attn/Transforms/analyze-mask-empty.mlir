// RUN: fovea-opt %s --attn-analyze-mask -split-input-file -verify-diagnostics -o /dev/null

!t = tensor<?x?x?x64xbf16>

func.func @window_of_zero(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %size = arith.constant 0 : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %size : index
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %near, %past : i1
      // expected-warning @+1 {{mask_mod hides every key from every query}}
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>

func.func @window_of_one(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %size = arith.constant 1 : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %size : index
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %near, %past : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>

func.func @unsigned_window_of_zero(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %size = arith.constant 0 : index
      %distance = arith.subi %i, %j : index
      %keep = arith.cmpi ult, %distance, %size : index
      // expected-warning @+1 {{mask_mod hides every key from every query}}
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>

// The same sum negated and shifted, among other conditions.
func.func @contradiction(%q: !t, %w: i32, %doc: tensor<?xi32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%w, %doc : i32, tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %w: i32, %doc: tensor<?xi32>) {
      %size = arith.index_cast %w : i32 to index
      %five = arith.constant 5 : index
      %end = arith.addi %j, %size : index
      %low = arith.addi %i, %five : index
      %a = arith.cmpi slt, %end, %i : index
      %b0 = arith.cmpi sge, %end, %low : index
      %x = tensor.extract %doc[%i] : tensor<?xi32>
      %y = tensor.extract %doc[%j] : tensor<?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      %keep0 = arith.andi %a, %same : i1
      %keep = arith.andi %keep0, %b0 : i1
      // expected-warning @+1 {{mask_mod hides every key from every query}}
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>

func.func @false(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.constant false
      // expected-warning @+1 {{mask_mod hides every key from every query}}
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>

// An i32 sum that wraps may satisfy both conditions.
func.func @may_wrap(%q: !t, %w: i32) -> !t {
  %o = attn.forward %q, %q, %q captures(%w : i32)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %w: i32) {
      %one = arith.constant 1 : i32
      %next = arith.addi %w, %one : i32
      %x = arith.index_cast %j : index to i32
      %a = arith.cmpi slt, %x, %next : i32
      %c = arith.cmpi sgt, %x, %w : i32
      %keep = arith.andi %a, %c : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>

// No sequence is that long.
func.func @far_keys(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %far = arith.constant 2147483648 : index
      %keep = arith.cmpi sge, %j, %far : index
      // expected-warning @+1 {{mask_mod hides every key from every query}}
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
