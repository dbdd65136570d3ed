// RUN: fovea-opt %s --split-input-file --verify-diagnostics --attn-to-tile='target=sm_90a schedule=producer_registers=24'

!t = tensor<?x?x?x64xbf16>
!rows = tensor<?x?x?xf32>
func.func @keys(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> !t {
  // expected-error @+1 {{schedule has roles ('producer_registers'), which find all of the gradients by q, k and v}}
  %dk = attn.backward %q, %k, %v, %o, %lse, %do gradients(k) : !t, !t, !t, !t, !rows, !t -> !t
  return %dk : !t
}
