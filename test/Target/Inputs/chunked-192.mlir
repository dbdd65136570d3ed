func.func @chunked(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 192 : index
      %ic = arith.divui %i, %c : index
      %jc = arith.divui %j, %c : index
      %same = arith.cmpi eq, %ic, %jc : index
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %same, %past : i1
      attn.yield %keep : i1
    }
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
