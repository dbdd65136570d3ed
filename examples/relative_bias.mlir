// T5's attention: a learned bias for each head and relative position, scores not
// scaled.
//
// %table has one row for each head and one column for each distance j - i from
// -128 to 128, into which the host expands T5's buckets; distances are clamped.
func.func @relative_bias(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %table: tensor<?x257xf32>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v scale(1.0) captures(%table : tensor<?x257xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %table: tensor<?x257xf32>) {
      %reach = arith.constant 128 : index
      %least = arith.constant 0 : index
      %most = arith.constant 256 : index
      %distance = arith.subi %j, %i : index
      %shifted = arith.addi %distance, %reach : index
      %lower = arith.maxsi %shifted, %least : index
      %column = arith.minsi %lower, %most : index
      %bias = tensor.extract %table[%h, %column] : tensor<?x257xf32>
      %biased = arith.addf %s, %bias : f32
      attn.yield %biased : f32
    }
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
