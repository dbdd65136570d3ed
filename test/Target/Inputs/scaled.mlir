// Causal attention of 8-bit floats with scales, for tests of machine code.
!t = tensor<?x?x?x128xf8E4M3FN>
!o = tensor<?x?x?x128xbf16>
!s = tensor<1x1xf32>
func.func @scaled(%q: !t, %k: !t, %v: !t, %sq: !s, %sk: !s, %sv: !s) -> (!o, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v scales(%sq, %sk, %sv : !s, !s, !s, names = ["q", "k", "v"])
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !o, tensor<?x?x?xf32>
  return %o, %lse : !o, tensor<?x?x?xf32>
}
