// Keys and values come in pairs.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x65x32xbf16>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{key and value must agree in all but the head dim}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x65x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
