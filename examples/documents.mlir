// Document packing: several documents stand one after another in a sequence, and
// a query sees the keys of its own document up to itself.
//
// %doc holds the number of each position's document. Where documents are runs of
// positions, kernels with roles visit the blocks of their own documents alone: a
// prologue finds the smallest and the largest number in each block.
func.func @documents(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %doc: tensor<?x?xi32>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v captures(%doc : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %doc: tensor<?x?xi32>) {
      %queryDoc = tensor.extract %doc[%b, %i] : tensor<?x?xi32>
      %keyDoc = tensor.extract %doc[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %queryDoc, %keyDoc : i32
      %causal = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %same, %causal : i1
      attn.yield %keep : i1
    }
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
