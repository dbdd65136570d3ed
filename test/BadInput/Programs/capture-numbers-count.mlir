// Fewer numbers than captured values.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %a: tensor<4xf32>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{expected a number for each of 2 captured values, found 1}}
  %o = attn.forward %q, %q, %q captures(%a, %a : tensor<4xf32>, tensor<4xf32>, numbers = [1])
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
