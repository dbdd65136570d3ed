// Causal attention with soft-capped scores: 30 * tanh(s / 30), as in Grok 1.
func.func @soft_cap(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 30.0 : f32
      %scaled = arith.divf %s, %cap : f32
      %tanh = math.tanh %scaled : f32
      %capped = arith.mulf %tanh, %cap : f32
      attn.yield %capped : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %causal = arith.cmpi sge, %i, %j : index
      attn.yield %causal : i1
    }
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
