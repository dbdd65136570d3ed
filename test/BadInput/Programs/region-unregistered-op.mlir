// Regions are of known ops.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  %o = attn.forward %q, %q, %q
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      // expected-error @+1 {{operation being parsed with an unregistered dialect}}
      %r = "mystery.op"(%s) : (f32) -> f32
      attn.yield %r : f32
    } : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
