// Generic syntax with a group of minus one operands.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{'operandSegmentSizes' attribute cannot have negative elements}}
  %o = "attn.forward"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, -1, 1, 0, 0, 0, 0, 0>, sequence = #attn.dense}> ({}, {}, {}, {})
    : (tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
