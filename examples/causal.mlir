// Causal attention, aligned to the top left: query i sees keys 0 to i.
//
// Batch size and sequence lengths are dynamic: one kernel serves all of them.
func.func @causal(%q: tensor<?x?x?x32xbf16>, %k: tensor<?x?x?x32xbf16>, %v: tensor<?x?x?x32xbf16>)
    -> (tensor<?x?x?x32xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    : tensor<?x?x?x32xbf16>, tensor<?x?x?x32xbf16>, tensor<?x?x?x32xbf16>
    -> tensor<?x?x?x32xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x32xbf16>, tensor<?x?x?xf32>
}
