// Programs of merge-stacked.test.

!t = tensor<?x2x3x?x128xbf16>
!l = tensor<?x2x3x?xf32>

func.func @merge(%os: !t, %ls: !l) -> (tensor<2x3x?x128xbf16>, tensor<2x3x?xf32>) {
  %o, %lse = attn.merge (%os, %ls) : !t, !l -> tensor<2x3x?x128xbf16>, tensor<2x3x?xf32>
  return %o, %lse : tensor<2x3x?x128xbf16>, tensor<2x3x?xf32>
}

// Columns in two loops, the last of them ragged; the layout bshd; no LSE.
func.func @wide(%os: tensor<?x2x?x3x168xf32>, %ls: tensor<?x2x3x?xf32>) -> tensor<2x?x3x168xf32> {
  %o = attn.merge (%os, %ls) layout(bshd) : tensor<?x2x?x3x168xf32>, tensor<?x2x3x?xf32> -> tensor<2x?x3x168xf32>
  return %o : tensor<2x?x3x168xf32>
}
