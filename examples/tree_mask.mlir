// Speculative decoding: 16 draft tokens form a tree, and each sees all earlier
// keys and its own ancestors. They are the last 16 keys of each sequence;
// bit t of %ancestors[b, i] is set if node i of the tree sees node t.
//
// The bitmaps are read once per row. Blocks of keys before the tree need no mask,
// and four heads that share keys are rows of one tile (PackGQA), 16 queries each.
// bitmask.mlir has a bitmap of any size.
//
// SpecInfer: Miao et al. 2023. Medusa: Cai et al. 2024.
func.func @tree_mask(%q: tensor<?x32x16x128xbf16>, %k: tensor<?x8x?x128xbf16>, %v: tensor<?x8x?x128xbf16>,
                     %lengths: tensor<?xi32>, %ancestors: tensor<?x16xi32>)
    -> (tensor<?x32x16x128xbf16>, tensor<?x32x16xf32>) {
  %o, %lse = attn.forward %q, %k, %v captures(%ancestors : tensor<?x16xi32>) lengths(%lengths : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %ancestors: tensor<?x16xi32>) {
      %n = attn.key_length
      %m = attn.query_length
      %root = arith.subi %n, %m : index
      %isBefore = arith.cmpi slt, %j, %root : index
      %j32 = arith.index_cast %j : index to i32
      %root32 = arith.index_cast %root : index to i32
      %node = arith.subi %j32, %root32 : i32
      %c31 = arith.constant 31 : i32
      %bit = arith.andi %node, %c31 : i32
      %word = tensor.extract %ancestors[%b, %i] : tensor<?x16xi32>
      %shifted = arith.shrui %word, %bit : i32
      %isAncestor = arith.trunci %shifted : i32 to i1
      %keep = arith.ori %isBefore, %isAncestor : i1
      attn.yield %keep : i1
    }
    : tensor<?x32x16x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
    -> tensor<?x32x16x128xbf16>, tensor<?x32x16xf32>
  return %o, %lse : tensor<?x32x16x128xbf16>, tensor<?x32x16xf32>
}
