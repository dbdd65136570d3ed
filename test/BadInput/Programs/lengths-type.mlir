// Lengths are i32.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>, %n: tensor<2xi64>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{'lengths' must be an i32 tensor of rank 1}}
  %o = attn.forward %q, %k, %v lengths(%n : tensor<2xi64>)
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
