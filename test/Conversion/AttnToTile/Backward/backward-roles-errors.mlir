// RUN: fovea-opt %s --split-input-file --verify-diagnostics --attn-to-tile='target=sm_90a schedule=producer_registers=24'

!t = tensor<?x?x?x64xbf16>
!rows = tensor<?x?x?xf32>
func.func @keys(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> !t {
  // expected-error @+1 {{schedule has roles ('producer_registers'), which compute the gradients of q, k and v together}}
  %dk = attn.backward %q, %k, %v, %o, %lse, %do gradients(k) : !t, !t, !t, !t, !rows, !t -> !t
  return %dk : !t
}

// -----

!t = tensor<?x?x?x64xbf16>
!rows = tensor<?x?x?xf32>
func.func @blocks(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %n: tensor<1x1x?xi32>, %i: tensor<1x1x?x?xi32>) -> (!t, !t, !t) {
  // expected-error @+1 {{schedule has roles ('producer_registers'), which use tiles of 64 queries and 64 keys, which must divide the blocks, found size = [128, 32]}}
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do blocks(%n, %i : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, size = [128, 32]) : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// -----

!t = tensor<2x4x?x64xf32>
!rows = tensor<2x4x?xf32>
func.func @elements(%q: !t, %lse: !rows) -> (!t, !t, !t) {
  // expected-error @+1 {{schedule has roles ('producer_registers'), which multiply elements of 16 bits, found 32}}
  %0:3 = attn.backward %q, %q, %q, %q, %lse, %q : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
