// Generic syntax whose operand groups don't add up.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{operand count (3) does not match with the total size (7) specified in attribute 'operandSegmentSizes'}}
  %o = "attn.forward"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 4, 0, 0, 0, 0, 0, 0>, sequence = #attn.dense}> ({}, {}, {}, {})
    : (tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
