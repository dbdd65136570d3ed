// Generic syntax with a block that has no ops.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{expects a non-empty block}}
  %o = "attn.forward"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>, sequence = #attn.dense}> ({}, {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
  }, {}, {}) : (tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
