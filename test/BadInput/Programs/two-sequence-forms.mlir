// Sequences have exactly one form.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>, %n: tensor<2xi32>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{'sequence form' is specified twice}}
  %o = attn.forward %q, %k, %v lengths(%n : tensor<2xi32>) lengths(%n : tensor<2xi32>)
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
