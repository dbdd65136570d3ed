// RUN: fovea-opt %s --split-input-file --attn-differentiate --attn-to-tile=target=sm_90a | FileCheck %s

// Narrow heads have a third stage of Q and dO, and no second one of keys.
// CHECK-LABEL: launch.abi @narrow
// CHECK-SAME: stages = 3, work = dynamic
// CHECK-SAME: streams = [<"k">, <"v">, <"exponents", stages = 3, staged, with = "q">, <"delta", stages = 3, staged, with = "do">]
!x = tensor<?x4x?x80xbf16>
!r = tensor<?x4x?xf32>
func.func @narrow(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v) : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}

// -----

// The values that a score_mod keeps live leave no room for the third stage.
// CHECK-LABEL: launch.abi @modified
// CHECK-SAME: stages = 2, work = dynamic
// CHECK-SAME: streams = [<"k", stages = 2>, <"v", stages = 2>,
!x = tensor<?x4x?x80xbf16>
!r = tensor<?x4x?xf32>
func.func @modified(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c = math.tanh %s : f32
      attn.yield %c : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}

// -----

// A CTA with one tile has memory left over.
// CHECK-LABEL: launch.abi @single
// CHECK-SAME: stages = 3,
// CHECK-SAME: streams = [<"k">, <"v">,
!x = tensor<?x4x?x128xbf16>
!r = tensor<?x4x?xf32>
func.func @single(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v) : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}

// -----

// In a persistent kernel, loading the next tile's keys is worth more.
// CHECK-LABEL: launch.abi @goes_on
// CHECK-SAME: stages = 2, work = dynamic
// CHECK-SAME: streams = [<"k", stages = 2>, <"v", stages = 2>,
!x = tensor<?x4x?x128xbf16>
!r = tensor<?x4x?xf32>
func.func @goes_on(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.cmpi sge, %i, %j : index
      attn.yield %c : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}

// -----

// A table indexed by relative position gains nothing from it. Scores start from its values, which
// are loaded before the fence that precedes their MMA.
// CHECK-LABEL: launch.abi @table
// CHECK-SAME: stages = 2,
// CHECK-SAME: <"diagonals.0", stages = 2, staged>
// CHECK-SAME: <"s", adds_to_summand>
// The values by relative position are loaded before the fence that follows the store of dS.
// CHECK-SAME: "ds.store", "s.acc" + 1, "ds.done", {{.*}}"s" + 1
!x = tensor<?x4x?x128xbf16>
!r = tensor<?x4x?xf32>
func.func @table(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: tensor<4x64xf32>) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v) captures(%t : tensor<4x64xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %table: tensor<4x64xf32>) {
      %c0 = arith.constant 0 : index
      %c63 = arith.constant 63 : index
      %d = arith.subi %i, %j : index
      %low = arith.maxsi %d, %c0 : index
      %place = arith.minsi %low, %c63 : index
      %bias = tensor.extract %table[%h, %place] : tensor<4x64xf32>
      %c = arith.addf %s, %bias : f32
      attn.yield %c : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
