// Causal attention with linear biases (ALiBi): each head lowers a score by its own
// slope times the distance of query and key.
//
// %slopes holds one slope for each query head.
func.func @alibi(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %slopes: tensor<?xf32>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v captures(%slopes : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %slopes: tensor<?xf32>) {
      %slope = tensor.extract %slopes[%h] : tensor<?xf32>
      %distance = arith.subi %j, %i : index
      %narrow = arith.index_cast %distance : index to i32
      %float = arith.sitofp %narrow : i32 to f32
      %bias = arith.mulf %slope, %float : f32
      %biased = arith.addf %s, %bias : f32
      attn.yield %biased : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %slopes: tensor<?xf32>) {
      %causal = arith.cmpi sge, %i, %j : index
      attn.yield %causal : i1
    }
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
