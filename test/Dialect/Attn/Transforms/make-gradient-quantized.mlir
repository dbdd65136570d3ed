// Quantized attention has no gradients.
// RUN: fovea-opt %s --attn-make-gradient --verify-diagnostics

!t = tensor<1x2x?x64xf8E4M3FN>
func.func @quantized(%q: !t) -> tensor<1x2x?x64xbf16> {
  // expected-error @below {{there are no gradients of quantized attention: expected f16, bf16 or f32 without 'scales', found 'f8E4M3FN'}}
  %o = attn.forward %q, %q, %q : !t, !t, !t -> tensor<1x2x?x64xbf16>
  return %o : tensor<1x2x?x64xbf16>
}
