// Host tensors have no device layout.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16, #attn.layout<bhsd>>, %k: tensor<2x4x64x32xbf16, #attn.layout<bhsd>>, %v: tensor<2x4x64x32xbf16, #attn.layout<bhsd>>) -> (tensor<2x4x64x32xbf16, #attn.layout<bhsd>>) {
  // expected-error @+1 {{query must have no encoding}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x64x32xbf16, #attn.layout<bhsd>>, tensor<2x4x64x32xbf16, #attn.layout<bhsd>>, tensor<2x4x64x32xbf16, #attn.layout<bhsd>> -> tensor<2x4x64x32xbf16, #attn.layout<bhsd>>
  return %o : tensor<2x4x64x32xbf16, #attn.layout<bhsd>>
}
