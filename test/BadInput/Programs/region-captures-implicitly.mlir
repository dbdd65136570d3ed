// Values come in through captures only.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %w: index) -> tensor<2x4x64x32xbf16> {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      // expected-error @+1 {{use of undeclared SSA value name}}
      %k = arith.cmpi sge, %w, %j : index
      attn.yield %k : i1
    } : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
