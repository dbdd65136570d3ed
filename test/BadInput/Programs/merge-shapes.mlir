// Parts have the result's shape.
// RUN: %reject %s

func.func @f(%o: tensor<2x4x64x32xf32>, %l: tensor<2x4x63xf32>) -> tensor<2x4x64x32xf32> {
  // expected-error @+1 {{lse}}
  %r = attn.merge (%o, %l), (%o, %l) : tensor<2x4x64x32xf32>, tensor<2x4x63xf32> -> tensor<2x4x64x32xf32>
  return %r : tensor<2x4x64x32xf32>
}
