// The file ends in the middle of an op.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{expected ':'}}
  %o = attn.forward %q, %q, %q