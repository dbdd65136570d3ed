// Head dims are static.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x?xbf16>, %k: tensor<2x4x64x?xbf16>, %v: tensor<2x4x64x?xbf16>) -> (tensor<2x4x64x?xbf16>) {
  // expected-error @+1 {{head dim of the query must be static}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x64x?xbf16>, tensor<2x4x64x?xbf16>, tensor<2x4x64x?xbf16> -> tensor<2x4x64x?xbf16>
  return %o : tensor<2x4x64x?xbf16>
}
