// A sliding window of 128 keys with a learned sink for each query head: a score
// without a value, which lets a head attend to nothing.
//
// GPT-OSS uses both in every other layer.
func.func @sinks_window(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %sinks: tensor<?xf32>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v sinks(%sinks : tensor<?xf32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %w = arith.constant 128 : index
      %d = arith.subi %i, %j : index
      %near = arith.cmpi slt, %d, %w : index
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %near, %past : i1
      attn.yield %keep : i1
    }
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
