// Query and key have one batch size.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<3x4x64x32xbf16>, %v: tensor<3x4x64x32xbf16>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{query and key must have the same batch size, found 2 and 3}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x64x32xbf16>, tensor<3x4x64x32xbf16>, tensor<3x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
