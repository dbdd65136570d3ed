// Decoding with grouped heads: one query per sequence, four query heads per key
// head, and the keys that each sequence has so far. The four heads read the same
// keys, so they are rows of one tile (PackGQA).
//
// Llama 3 8B; keys and values as a padded cache.
func.func @gqa_decode(%q: tensor<?x32x1x128xbf16>, %k: tensor<?x8x?x128xbf16>, %v: tensor<?x8x?x128xbf16>, %lengths: tensor<?xi32>)
    -> (tensor<?x32x1x128xbf16>, tensor<?x32x1xf32>) {
  %o, %lse = attn.forward %q, %k, %v lengths(%lengths : tensor<?xi32>)
    : tensor<?x32x1x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
    -> tensor<?x32x1x128xbf16>, tensor<?x32x1xf32>
  return %o, %lse : tensor<?x32x1x128xbf16>, tensor<?x32x1xf32>
}
