// Three operands, three types.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{expected the types of q, k and v, found 2 types}}
  %o = attn.forward %q, %q, %q : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
