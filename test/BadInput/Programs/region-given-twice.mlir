// One mask.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %k = arith.cmpi sge, %i, %j : index
      attn.yield %k : i1
    }
    // expected-error @+1 {{'mask_mod' is specified twice}}
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %k = arith.cmpi sge, %i, %j : index
      attn.yield %k : i1
    } : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
