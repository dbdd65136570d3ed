// Parts are ranked tensors of floats.
// RUN: %reject %s

func.func @f(%o: tensor<2x4x64x32xi8>, %l: tensor<2x4x64xf32>) -> tensor<2x4x64x32xi8> {
  // expected-error @+1 {{must be f16, bf16 or f32}}
  %r = attn.merge (%o, %l) : tensor<2x4x64x32xi8>, tensor<2x4x64xf32> -> tensor<2x4x64x32xi8>
  return %r : tensor<2x4x64x32xi8>
}
