// An op that the dialect lacks.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{custom op 'attn.sideways' is unknown}}
  attn.sideways %q : tensor<2x4x64x32xbf16>
  return
}
