// Window with global tokens, as in Longformer and StreamingLLM: a query sees the
// last 512 keys, the first 64, and every 512th one, all of them not after itself.
func.func @prefix_window_global(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %window = arith.constant 512 : index
      %prefix = arith.constant 64 : index
      %zero = arith.constant 0 : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %window : index
      %first = arith.cmpi slt, %j, %prefix : index
      %place = arith.remui %j, %window : index
      %global = arith.cmpi eq, %place, %zero : index
      %nearOrFirst = arith.ori %near, %first : i1
      %shown = arith.ori %nearOrFirst, %global : i1
      %causal = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %shown, %causal : i1
      attn.yield %keep : i1
    }
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
