// Each captured value has a type.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>, %m: tensor<4xf32>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{expected ','}}
  %o = attn.forward %q, %k, %v captures(%m, %m : tensor<4xf32>)
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
