// As many lengths as batch entries.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>, %n: tensor<3xi32>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{'lengths' must have 2 entries, one per batch entry, found 3}}
  %o = attn.forward %q, %k, %v lengths(%n : tensor<3xi32>)
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
