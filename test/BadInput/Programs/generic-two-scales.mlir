// Generic syntax with a constant and a run-time scale.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %s: f32) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{expected one scale, found a constant and an operand}}
  %o = "attn.forward"(%q, %q, %q, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0>, scale = 1.0 : f64, sequence = #attn.dense}> ({}, {}, {}, {})
    : (tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, f32) -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
