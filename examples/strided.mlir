// Strided attention of Sparse Transformers (Child et al., 2019): the last 128
// keys, and before them every 1024th block of 128.
func.func @strided(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %stride = arith.constant 1024 : index
      %width = arith.constant 128 : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %width : index
      %column = arith.remui %j, %stride : index
      %start = arith.subi %stride, %width : index
      %summary = arith.cmpi sge, %column, %start : index
      %shown = arith.ori %near, %summary : i1
      %causal = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %shown, %causal : i1
      attn.yield %keep : i1
    }
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
