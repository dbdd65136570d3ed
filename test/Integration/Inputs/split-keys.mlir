// Forwards whose keys several CTAs may share: few queries with grouped heads, and any queries with
// the schedule 'shares'.
func.func @decode(%q: tensor<?x8x1x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>, %lengths: tensor<?xi32>)
    -> (tensor<?x8x1x64xbf16>, tensor<?x8x1xf32>) {
  %o, %lse = attn.forward %q, %k, %v lengths(%lengths : tensor<?xi32>)
    : tensor<?x8x1x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16> -> tensor<?x8x1x64xbf16>, tensor<?x8x1xf32>
  return %o, %lse : tensor<?x8x1x64xbf16>, tensor<?x8x1xf32>
}

// Three queries of seven heads, each of which sees the keys up to its own, at most 200 of them; a
// soft cap; sinks.
func.func @drafts(%q: tensor<?x14x3x128xbf16>, %k: tensor<?x2x?x128xbf16>, %v: tensor<?x2x?x128xbf16>, %lengths: tensor<?xi32>, %sinks: tensor<14xf32>)
    -> (tensor<?x14x3x128xbf16>, tensor<?x14x3xf32>) {
  %o, %lse = attn.forward %q, %k, %v lengths(%lengths : tensor<?xi32>) sinks(%sinks : tensor<14xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 2.0 : f32
      %part = arith.divf %s, %cap : f32
      %bent = math.tanh %part : f32
      %soft = arith.mulf %bent, %cap : f32
      attn.yield %soft : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = attn.key_length
      %m = attn.query_length
      %before = arith.subi %n, %m : index
      %own = arith.addi %before, %i : index
      %isBefore = arith.cmpi sle, %j, %own : index
      %c200 = arith.constant 200 : index
      %first = arith.subi %own, %c200 : index
      %isNear = arith.cmpi sgt, %j, %first : index
      %keep = arith.andi %isBefore, %isNear : i1
      attn.yield %keep : i1
    }
    : tensor<?x14x3x128xbf16>, tensor<?x2x?x128xbf16>, tensor<?x2x?x128xbf16> -> tensor<?x14x3x128xbf16>, tensor<?x14x3xf32>
  return %o, %lse : tensor<?x14x3x128xbf16>, tensor<?x14x3xf32>
}

// Sixteen queries of one head each, in pages.
func.func @pages(%q: tensor<?x2x16x64xf16>, %k: tensor<?x2x32x64xf16>, %v: tensor<?x2x32x64xf16>, %table: tensor<?x?xi32>, %lengths: tensor<?xi32>)
    -> (tensor<?x2x16x64xf16>, tensor<?x2x16xf32>) {
  %o, %lse = attn.forward %q, %k, %v paged(%table, %lengths : tensor<?x?xi32>, tensor<?xi32>, page = 32)
    : tensor<?x2x16x64xf16>, tensor<?x2x32x64xf16>, tensor<?x2x32x64xf16> -> tensor<?x2x16x64xf16>, tensor<?x2x16xf32>
  return %o, %lse : tensor<?x2x16x64xf16>, tensor<?x2x16xf32>
}

// Tiles of queries with different numbers of blocks: causal, aligned to the last key.
func.func @prefill(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = attn.key_length
      %m = attn.query_length
      %before = arith.subi %n, %m : index
      %own = arith.addi %before, %i : index
      %keep = arith.cmpi sle, %j, %own : index
      attn.yield %keep : i1
    }
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
