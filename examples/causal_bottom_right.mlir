// Causal attention, aligned to the bottom right: the last query sees all keys.
//
// For decoding with a KV cache: the queries are the newest positions of a longer
// sequence.
func.func @causal_bottom_right(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %queries = attn.query_length
      %keys = attn.key_length
      %fromEnd = arith.subi %i, %queries : index
      %last = arith.addi %fromEnd, %keys : index
      %keep = arith.cmpi sle, %j, %last : index
      attn.yield %keep : i1
    }
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
