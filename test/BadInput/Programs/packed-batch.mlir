// Packed sequences share one batch entry.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>, %n: tensor<3xi32>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{packed sequences need a batch dimension of 1, found 2}}
  %o = attn.forward %q, %k, %v packed(%n, %n : tensor<3xi32>, tensor<3xi32>)
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
