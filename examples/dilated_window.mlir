// Dilated sliding window: a query sees every 4th one of the last 512 keys, itself
// included.
func.func @dilated_window(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %window = arith.constant 512 : index
      %dilation = arith.constant 4 : index
      %zero = arith.constant 0 : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %window : index
      %past = arith.cmpi sge, %distance, %zero : index
      %step = arith.remsi %distance, %dilation : index
      %onStep = arith.cmpi eq, %step, %zero : index
      %inWindow = arith.andi %near, %past : i1
      %keep = arith.andi %inWindow, %onStep : i1
      attn.yield %keep : i1
    }
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
