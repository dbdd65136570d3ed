// A bias for each head, query and key, added to the scaled scores; the same for
// every batch entry.
//
// On Hopper, blocks of %bias are loaded through their own pipeline: the host must
// pass rows of keys that are contiguous and start at multiples of 16 bytes. Other
// layouts need --schedule=score_stages=0.
func.func @logit_bias(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %bias: tensor<?x?x?xbf16>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v captures(%bias : tensor<?x?x?xbf16>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %bias: tensor<?x?x?xbf16>) {
      %x = tensor.extract %bias[%h, %i, %j] : tensor<?x?x?xbf16>
      %wide = arith.extf %x : bf16 to f32
      %biased = arith.addf %s, %wide : f32
      attn.yield %biased : f32
    }
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
