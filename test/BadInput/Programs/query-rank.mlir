// A query needs four dimensions.
// RUN: %reject %s

func.func @f(%q: tensor<4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{query must have rank 4, found 'tensor<4x64x32xbf16>'}}
  %o = attn.forward %q, %k, %v
    : tensor<4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
