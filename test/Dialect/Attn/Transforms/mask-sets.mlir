// Descriptions of the visible keys of a query: a union of sets with bounds and conditions.
// RUN: fovea-opt %s --attn-analyze-mask --remarks-filter=mask -o /dev/null 2>&1 | FileCheck %s

!t = tensor<?x?x?x64xbf16>

// CHECK: mask | {{.*}} Function=sinks | Reason="query i sees keys [max(0, i - 63), i] and keys 0 to 3"
// CHECK: kv_bounds | {{.*}} Function=sinks | Reason="queries i0 to i1 skip keys from max(i1 + 1, 4) on (blocks above the diagonal); keys that all these queries see need no mask"
func.func @sinks(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %size = arith.constant 64 : index
      %sinks = arith.constant 4 : index
      %causal = arith.cmpi sge, %i, %j : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %size : index
      %window = arith.andi %causal, %near : i1
      %first = arith.cmpi slt, %j, %sinks : index
      %keep = arith.ori %window, %first : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// An unsigned comparison has two bounds.
// CHECK: mask | {{.*}} Function=unsigned | Reason="query i sees keys [max(0, i - 99), i]"
func.func @unsigned(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %size = arith.constant 100 : index
      %distance = arith.subi %i, %j : index
      %keep = arith.cmpi ult, %distance, %size : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// So has an absolute value; a negated condition is the complement.
// CHECK: mask | {{.*}} Function=band | Reason="query i sees keys [max(0, i - 8), i + 8]"
// CHECK: mask | {{.*}} Function=beyond | Reason="query i sees keys from i + 9 on and keys [0, i - 9]"
func.func @band(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %size = arith.constant 8 : index
      %distance = arith.subi %j, %i : index
      %away = math.absi %distance : index
      %keep = arith.cmpi sle, %away, %size : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
func.func @beyond(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %true = arith.constant true
      %size = arith.constant 8 : index
      %distance = arith.subi %j, %i : index
      %away = math.absi %distance : index
      %near = arith.cmpi sle, %away, %size : index
      %keep = arith.xori %near, %true : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Conditions without bounds are printed as formulas.
// CHECK: mask | {{.*}} Function=documents | Reason="query i sees keys [0, i] where capture0[b, i] == capture0[b, j]"
func.func @documents(%q: !t, %x: tensor<?x?xi32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%x : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xi32>) {
      %p = tensor.extract %x[%b, %i] : tensor<?x?xi32>
      %n = tensor.extract %x[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %p, %n : i32
      %causal = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %same, %causal : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// A captured scalar is a bound, and so is one per head.
// CHECK: mask | {{.*}} Function=captured | Reason="query i sees keys [max(0, i - capture0[h] + 1), i]"
func.func @captured(%q: !t, %x: tensor<?xi32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%x : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %x: tensor<?xi32>) {
      %size = tensor.extract %x[%h] : tensor<?xi32>
      %wide = arith.index_cast %size : i32 to index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %wide : index
      %causal = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %near, %causal : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// A select between masks is a union; rows without keys have no sets.
// CHECK: mask | {{.*}} Function=chosen | Reason="query i sees keys [0, i] where h == 0 and all keys where h != 0"
// CHECK: mask | {{.*}} Function=nothing | Reason="query i sees no keys"
func.func @chosen(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %true = arith.constant true
      %zero = arith.constant 0 : index
      %first = arith.cmpi eq, %h, %zero : index
      %causal = arith.cmpi sge, %i, %j : index
      %keep = arith.select %first, %causal, %true : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
func.func @nothing(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %false = arith.constant false
      attn.yield %false : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
