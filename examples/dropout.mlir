// Causal attention that drops a tenth of the probabilities, for training. The
// dropped elements depend only on the seed, the offset and the element's index,
// so the backward pass and checks recompute them (see attn.forward in
// docs/reference/AttnDialect.md).
//
// Each training step uses another offset, so that it drops other elements.
func.func @dropout(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %seed: i64, %offset: i64)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v dropout(0.1, %seed, %offset)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
