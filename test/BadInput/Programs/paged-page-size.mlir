// Pages have rows.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<8x4x16x32xbf16>, %v: tensor<8x4x16x32xbf16>, %t: tensor<2x4xi32>, %n: tensor<2xi32>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{page must be positive, found 0}}
  %o = attn.forward %q, %k, %v paged(%t, %n : tensor<2x4xi32>, tensor<2xi32>, page = 0)
    : tensor<2x4x64x32xbf16>, tensor<8x4x16x32xbf16>, tensor<8x4x16x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
