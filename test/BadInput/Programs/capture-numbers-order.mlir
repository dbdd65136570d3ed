// Two captured values of one name.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %a: tensor<4xf32>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{numbers of captured values must ascend, from 0 to 2147483647, found [3, 3]}}
  %o = attn.forward %q, %q, %q captures(%a, %a : tensor<4xf32>, tensor<4xf32>, numbers = [3, 3])
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
