// Attention in a larger function becomes a kernel of its own, which the rest calls.
// RUN: fovea-compile %s --target=sm_90a | FileCheck %s
// CHECK-LABEL: .entry f_forward(

!t = tensor<?x?x?x64xbf16>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  %twice = arith.addf %q, %q : !t
  %o = attn.forward %twice, %k, %v : !t, !t, !t -> !t
  return %o : !t
}
