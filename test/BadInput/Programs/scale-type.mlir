// A run-time scale is f32.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>, %s: f64) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{operand #3 must be 32-bit float, but got 'f64'}}
  %o = attn.forward %q, %k, %v scale(%s : f64)
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
