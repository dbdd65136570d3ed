// The output has the inputs' type or f32.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>) -> (tensor<2x4x64x32xf16>) {
  // expected-error @+1 {{output must be 'bf16' or f32, found 'f16'}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xf16>
  return %o : tensor<2x4x64x32xf16>
}
