// The file ends before its regions do.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %k = arith.cmpi sge, %i, %j : index
      // expected-error @+1 {{expected operation name in quotes}}
      attn.yield 