// Regions are pure: the effects of a call are unknown.
// RUN: %reject %s

func.func private @g(f32) -> f32
func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  %o = attn.forward %q, %q, %q
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      // expected-error @+1 {{is not allowed in score_mod: it may have side effects}}
      %r = func.call @g(%s) : (f32) -> f32
      attn.yield %r : f32
    } : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
