// Two captured values for each score: more registers than a wide block leaves.
func.func @two_values(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %t: tensor<?x?xf32>, %u: tensor<?x?xf32>) -> tensor<?x?x?x128xbf16> {
  %o = attn.forward %q, %k, %v
    captures(%t, %u : tensor<?x?xf32>, tensor<?x?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xf32>, %y: tensor<?x?xf32>) {
      %a = tensor.extract %x[%i, %j] : tensor<?x?xf32>
      %c = tensor.extract %y[%j, %i] : tensor<?x?xf32>
      %bias = arith.mulf %a, %c : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    }
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}
