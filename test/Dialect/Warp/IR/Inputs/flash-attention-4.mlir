// The attention op that flash-attention-4.mlir implements.
func.func @dense(%q: tensor<1x1x512x64xbf16>, %k: tensor<1x1x384x64xbf16>, %v: tensor<1x1x384x64xbf16>)
    -> (tensor<1x1x512x64xbf16>, tensor<1x1x512xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    : tensor<1x1x512x64xbf16>, tensor<1x1x384x64xbf16>, tensor<1x1x384x64xbf16>
    -> tensor<1x1x512x64xbf16>, tensor<1x1x512xf32>
  return %o, %lse : tensor<1x1x512x64xbf16>, tensor<1x1x512xf32>
}
