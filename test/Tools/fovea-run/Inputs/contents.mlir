!q = tensor<?x1x?x16xf16>
func.func @lengths(%q: !q, %k: !q, %n: tensor<?xi32>) -> !q {
  %o = attn.forward %q, %k, %k lengths(%n : tensor<?xi32>) : !q, !q, !q -> !q
  return %o : !q
}
func.func @blocks(%q: !q, %k: !q, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) -> !q {
  %o = attn.forward %q, %k, %k blocks(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, size = [16, 16]) : !q, !q, !q -> !q
  return %o : !q
}

func.func @pages(%q: tensor<?x?x?x16xf16>, %k: tensor<?x?x4x16xf16>, %table: tensor<?x?xi32>, %n: tensor<?xi32>) -> tensor<?x?x?x16xf16> {
  %o = attn.forward %q, %k, %k paged(%table, %n : tensor<?x?xi32>, tensor<?xi32>, page = 4)
    : tensor<?x?x?x16xf16>, tensor<?x?x4x16xf16>, tensor<?x?x4x16xf16> -> tensor<?x?x?x16xf16>
  return %o : tensor<?x?x?x16xf16>
}
