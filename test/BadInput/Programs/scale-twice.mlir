// One clause of a kind.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{'scale' is specified twice}}
  %o = attn.forward %q, %k, %v scale(0.5) scale(0.25)
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
