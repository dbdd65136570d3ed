// LSE is f32.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>) -> (tensor<2x4x64x32xbf16>, tensor<2x4x64xbf16>) {
  // expected-error @+1 {{lse must be an f32 tensor of the query's batch, heads and sequence}}
  %o, %lse = attn.forward %q, %k, %v
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>, tensor<2x4x64xbf16>
  return %o, %lse : tensor<2x4x64x32xbf16>, tensor<2x4x64xbf16>
}
