// Values that are columns of the keys have no gradients.
// RUN: fovea-opt %s --attn-make-gradient --verify-diagnostics

func.func @columns(%q: tensor<1x2x?x16xbf16>, %k: tensor<1x1x?x16xbf16>) -> tensor<1x2x?x8xbf16> {
  // expected-error @below {{attention with 'value_columns' has no gradients yet: expected a value operand}}
  %o = attn.forward %q, %k value_columns(0, 8) : tensor<1x2x?x16xbf16>, tensor<1x1x?x16xbf16> -> tensor<1x2x?x8xbf16>
  return %o : tensor<1x2x?x8xbf16>
}
