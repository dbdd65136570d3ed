// The local layers of Gemma 2 27B: two query heads share a key head (GQA),
// scores are capped at 50, the causal window is 4096 keys, the scale 1/12.
func.func @soft_cap_window_gqa(%q: tensor<?x32x?x128xbf16>, %k: tensor<?x16x?x128xbf16>, %v: tensor<?x16x?x128xbf16>)
    -> (tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v scale(0.083333333333333329)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 50.0 : f32
      %scaled = arith.divf %s, %cap : f32
      %tanh = math.tanh %scaled : f32
      %capped = arith.mulf %tanh, %cap : f32
      attn.yield %capped : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %window = arith.constant 4096 : index
      %causal = arith.cmpi sge, %i, %j : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %window : index
      %keep = arith.andi %causal, %near : i1
      attn.yield %keep : i1
    }
    : tensor<?x32x?x128xbf16>, tensor<?x16x?x128xbf16>, tensor<?x16x?x128xbf16>
    -> tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>
  return %o, %lse : tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>
}
