// Attention takes Q, K and V.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{'attn.forward' op expected either a value or 'value_columns', found neither}}
  %o = attn.forward %q, %q : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
