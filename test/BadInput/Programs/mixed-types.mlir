// Q, K and V have one type.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xf16>, %v: tensor<2x4x64x32xf16>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{query, key and value must have the same element type}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xf16>, tensor<2x4x64x32xf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
