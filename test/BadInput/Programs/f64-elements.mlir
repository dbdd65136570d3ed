// No target computes in f64.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xf64>, %k: tensor<2x4x64x32xf64>, %v: tensor<2x4x64x32xf64>) -> (tensor<2x4x64x32xf64>) {
  // expected-error @+1 {{query must be f8E4M3FN, f16, bf16 or f32, found 'f64'}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x64x32xf64>, tensor<2x4x64x32xf64>, tensor<2x4x64x32xf64> -> tensor<2x4x64x32xf64>
  return %o : tensor<2x4x64x32xf64>
}
