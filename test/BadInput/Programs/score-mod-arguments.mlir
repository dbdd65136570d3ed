// score_mod sees the score and four coordinates.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{score_mod must have arguments ('f32', 'index', 'index', 'index', 'index'), found}}
  %o = attn.forward %q, %q, %q
    score_mod(%s: f32, %i: index, %j: index) {
      attn.yield %s : f32
    } : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
