// Document packing: a sequence contains several documents, and a query sees the
// keys of its own document up to itself.
//
// %doc has the document index of each position. If documents are contiguous,
// warp-specialised kernels only process blocks of their own documents: a
// preprocess kernel computes the block min/max of the indices.
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
