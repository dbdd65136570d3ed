// Reasons for fields derived from the problem, and for gradients.
// RUN: fovea-opt %s --fovea-to-tile=target=sm_90a --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s
// RUN: fovea-opt %s --fovea-to-tile=target=sm_100a --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=TMEM
// RUN: fovea-opt %examples/causal.mlir --attn-make-gradient='gradients=q,k,v' -o %t.mlir
// RUN: fovea-opt %t.mlir --fovea-to-tile=target=sm_90a --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: fovea-opt %t.mlir --fovea-to-tile=target=sm_80 --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: [Analysis] chosen | {{.*}} Function=causal_backward | Reason="one kernel over key tiles computes all gradients; it accumulates dQ in memory"
// RUN: fovea-opt %t.mlir --fovea-to-tile='target=sm_80 schedule=tile_n=32' --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: sed s/x32x/x144x/g %t.mlir | fovea-opt --fovea-to-tile=target=sm_80 --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=APART
// APART: [Analysis] chosen | {{.*}} Function=causal_backward | Reason="kernels over key tiles compute all gradients, dV in a kernel of its own; they accumulate dQ in memory"
// TWO: [Analysis] chosen | {{.*}} Function=causal_backward | Reason="kernels over key tiles compute dK and dV, others over query tiles dQ"

// CHECK: [Analysis] tau | {{.*}} Function=half | Reason="probabilities reach 2^tau, near the largest f16", Value=8
// CHECK: [Missed] add_by_dot | {{.*}} Function=half | Reason="MMA accumulators round large sums, which makes the log-sum-exp inaccurate"
// TMEM: [Missed] score_stages | {{.*}} Function=half | Reason="tiles of captured scores are not prefetched: schedule's 'score_stages' must be 0 where dots accumulate in tensor memory, found 2"
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

// TMEM: [Analysis] unit | {{.*}} Function=lengths | Reason="the best MMA unit that 'sm_100a' has for the problem", Value=tcgen05
// TMEM: [Analysis] work | {{.*}} Function=lengths | Reason="query tiles iterate over different numbers of keys, so CTAs fetch the next tile dynamically", Value=dynamic
!w = tensor<?x?x?x64xbf16>
func.func @lengths(%q: !w, %k: !w, %v: !w, %n: tensor<?xi32>) -> !w {
  %o = attn.forward %q, %k, %v lengths(%n : tensor<?xi32>) : !w, !w, !w -> !w
  return %o : !w
}

// CHECK: [Missed] chain | {{.*}} Function=wide | Reason="with one buffer of Q the next tile would wait for the last scores of the current tile"
!l = tensor<?x?x?x192xf16>
func.func @wide(%q: !l, %k: !l, %v: !l) -> !l {
  %o = attn.forward %q, %k, %v : !l, !l, !l -> !l
  return %o : !l
}
