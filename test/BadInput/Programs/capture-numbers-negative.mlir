// A number below 0, written in the generic form.
// RUN: %reject %s

!t = tensor<2x4x64x32xbf16>
func.func @f(%q: !t, %a: tensor<4xf32>) -> !t {
  // expected-error @+1 {{numbers of captured values must ascend, from 0 to 2147483647, found [-1]}}
  %o = "attn.forward"(%q, %q, %q, %a) <{captureNumbers = array<i64: -1>, layout = #attn.layout<bhsd>, sequence = #attn.dense, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0>}> ({}, {}, {}, {}) : (!t, !t, !t, tensor<4xf32>) -> !t
  return %o : !t
}
