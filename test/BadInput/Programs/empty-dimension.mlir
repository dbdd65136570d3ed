// A tensor without elements.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x0x32xbf16>, %k: tensor<2x4x0x32xbf16>, %v: tensor<2x4x0x32xbf16>) -> (tensor<2x4x0x32xbf16>) {
  // expected-error @+1 {{query must not be empty}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x0x32xbf16>, tensor<2x4x0x32xbf16>, tensor<2x4x0x32xbf16> -> tensor<2x4x0x32xbf16>
  return %o : tensor<2x4x0x32xbf16>
}
