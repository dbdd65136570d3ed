// Sums that roles cannot accumulate in a fixed order.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --attn-to-tile='target=sm_90a schedule=producer_registers=24'

!n = tensor<?xi32>
!t = tensor<1x?x?x128xbf16>
!rows = tensor<1x?x?xf32>
func.func @packed(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %cu_q: !n, %cu_k: !n) -> (!t, !t, !t) {
  // expected-error @+1 {{schedule has roles ('producer_registers'), which accumulate dq of packed sequences in no fixed order, but it must be deterministic}}
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic packed(%cu_q, %cu_k : !n, !n)
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
