// Captured tensors hold numbers that kernels can load.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>, %m: tensor<4xcomplex<f32>>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{captured value #0 must be}}
  %o = attn.forward %q, %k, %v captures(%m : tensor<4xcomplex<f32>>)
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
