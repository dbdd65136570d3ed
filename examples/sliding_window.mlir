// Causal attention within a window: query i sees keys i - 4095 to i.
//
// As in Mistral 7B. Blocks of keys outside the window are never processed.
func.func @sliding_window(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %window = arith.constant 4096 : index
      %causal = arith.cmpi sge, %i, %j : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %window : index
      %keep = arith.andi %causal, %near : i1
      attn.yield %keep : i1
    }
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
