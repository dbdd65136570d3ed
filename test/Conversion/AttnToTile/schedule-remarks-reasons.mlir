// Reasons for fields that follow from the problem, and for gradients.
// RUN: fovea-opt %s --fovea-to-tile=target=sm_90a --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s
// RUN: fovea-opt %s --fovea-to-tile=target=sm_100a --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=TMEM
// RUN: fovea-opt %examples/causal.mlir --attn-make-gradient='gradients=q,k,v' -o %t.mlir
// RUN: fovea-opt %t.mlir --fovea-to-tile=target=sm_90a --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: fovea-opt %t.mlir --fovea-to-tile=target=sm_80 --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: [Analysis] chosen | {{.*}} Function=causal_backward | Reason="one kernel, whose tiles are keys, finds all gradients, and adds to those by q in memory"
// RUN: fovea-opt %t.mlir --fovea-to-tile='target=sm_80 schedule=tile_n=32' --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: sed s/x32x/x144x/g %t.mlir | fovea-opt --fovea-to-tile=target=sm_80 --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=APART
// APART: [Analysis] chosen | {{.*}} Function=causal_backward | Reason="kernels whose tiles are keys find all gradients, those by v apart, and add to those by q in memory"
// TWO: [Analysis] chosen | {{.*}} Function=causal_backward | Reason="kernels whose tiles are keys, and others whose tiles are queries, find the gradients apart"

// CHECK: [Analysis] tau | {{.*}} Function=half | Reason="weights reach 2^tau, and f16 not much more", Value=8
// CHECK: [Missed] add_by_dot | {{.*}} Function=half | Reason="accumulators round large sums, which a log-sum-exp shows"
// CHECK: [Missed] chain | {{.*}} Function=half | Reason="with one buffer for queries the next tile would wait for this one's last scores"
// TMEM: [Missed] score_stages | {{.*}} Function=half | Reason="blocks of captured scores are not copied ahead: schedule's 'score_stages' must be 0 where dots accumulate in tensor memory, found 2"
!t = tensor<?x?x?x128xf16>
func.func @half(%q: !t, %k: !t, %v: !t, %x: tensor<?x?x?x?xf16>) -> (!t, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v captures(%x : tensor<?x?x?x?xf16>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %y: tensor<?x?x?x?xf16>) {
      %e = tensor.extract %y[%b, %h, %i, %j] : tensor<?x?x?x?xf16>
      %w = arith.extf %e : f16 to f32
      %r = arith.addf %s, %w : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, tensor<?x?x?xf32>
  return %o, %lse : !t, tensor<?x?x?xf32>
}

// TMEM: [Missed] unit | {{.*}} Function=lengths | Reason="tcgen05 is not used: sequences may end before the tensors do"
!w = tensor<?x?x?x64xbf16>
func.func @lengths(%q: !w, %k: !w, %v: !w, %n: tensor<?xi32>) -> !w {
  %o = attn.forward %q, %k, %v lengths(%n : tensor<?xi32>) : !w, !w, !w -> !w
  return %o : !w
}
