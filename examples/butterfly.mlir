// Butterfly block-sparse attention (Pixelated Butterfly, Chen et al., 2022):
// blocks of 128 positions see each other if their indices differ in at most one
// bit.
func.func @butterfly(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %size = arith.constant 128 : index
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %queryBlock = arith.divui %i, %size : index
      %keyBlock = arith.divui %j, %size : index
      %differ = arith.xori %queryBlock, %keyBlock : index
      %less = arith.subi %differ, %one : index
      // At most one bit is set: clearing the lowest set bit gives 0.
      %others = arith.andi %differ, %less : index
      %keep = arith.cmpi eq, %others, %zero : index
      attn.yield %keep : i1
    }
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
