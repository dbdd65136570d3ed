// Captured tensors have at most four dimensions.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>, %m: tensor<1x1x1x1x1xf32>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{captured value #0 must be}}
  %o = attn.forward %q, %k, %v captures(%m : tensor<1x1x1x1x1xf32>)
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
