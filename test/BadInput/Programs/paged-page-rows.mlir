// The pool's pages have as many rows as the clause says.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<8x4x16x32xbf16>, %v: tensor<8x4x16x32xbf16>, %t: tensor<2x4xi32>, %n: tensor<2xi32>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{pages of key and value must have 32 rows as in 'page', found 'tensor<8x4x16x32xbf16>'}}
  %o = attn.forward %q, %k, %v paged(%t, %n : tensor<2x4xi32>, tensor<2xi32>, page = 32)
    : tensor<2x4x64x32xbf16>, tensor<8x4x16x32xbf16>, tensor<8x4x16x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
