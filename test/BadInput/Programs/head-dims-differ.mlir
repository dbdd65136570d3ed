// Query and key have one head dim.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x64xbf16>, %v: tensor<2x4x64x32xbf16>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{query and key must have the same head dim, found 32 and 64}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x64xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
