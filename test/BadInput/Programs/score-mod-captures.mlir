// Regions see every captured value.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %a: tensor<4xf32>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{score_mod must have arguments}}
  %o = attn.forward %q, %q, %q captures(%a : tensor<4xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      attn.yield %s : f32
    } : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
