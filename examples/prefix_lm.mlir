// Prefix language model: each batch entry has a prefix that all queries see, after
// it attention is causal.
//
// %prefix holds the length of each batch entry's prefix.
func.func @prefix_lm(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %prefix: tensor<?xi32>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v captures(%prefix : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %prefix: tensor<?xi32>) {
      %length = tensor.extract %prefix[%b] : tensor<?xi32>
      %end = arith.index_cast %length : i32 to index
      %inPrefix = arith.cmpi slt, %j, %end : index
      %causal = arith.cmpi sge, %i, %j : index
      %keep = arith.ori %inPrefix, %causal : i1
      attn.yield %keep : i1
    }
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
