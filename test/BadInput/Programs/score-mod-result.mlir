// score_mod yields a score.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  %o = attn.forward %q, %q, %q
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %r = arith.extf %s : f32 to f64
      // expected-error @+1 {{in score_mod must yield ('f32'), found ('f64')}}
      attn.yield %r : f64
    } : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
