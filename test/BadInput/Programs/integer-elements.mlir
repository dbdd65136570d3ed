// Attention is on floats.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xi32>, %k: tensor<2x4x64x32xi32>, %v: tensor<2x4x64x32xi32>) -> (tensor<2x4x64x32xi32>) {
  // expected-error @+1 {{query must be f8E4M3FN, f16, bf16 or f32, found 'i32'}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x64x32xi32>, tensor<2x4x64x32xi32>, tensor<2x4x64x32xi32> -> tensor<2x4x64x32xi32>
  return %o : tensor<2x4x64x32xi32>
}
