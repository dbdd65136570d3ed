// Attention gives O and LSE.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{expected one or two results, found 3}}
  %o:3 = attn.forward %q, %q, %q : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>
  return %o#0 : tensor<2x4x64x32xbf16>
}
