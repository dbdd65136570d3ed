// The attention that the kernels of this folder compute.
func.func @dense(%q: tensor<1x1x640x64xbf16>, %k: tensor<1x1x192x64xbf16>, %v: tensor<1x1x192x64xbf16>)
    -> (tensor<1x1x640x64xbf16>, tensor<1x1x640xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    : tensor<1x1x640x64xbf16>, tensor<1x1x192x64xbf16>, tensor<1x1x192x64xbf16>
    -> tensor<1x1x640x64xbf16>, tensor<1x1x640xf32>
  return %o, %lse : tensor<1x1x640x64xbf16>, tensor<1x1x640xf32>
}
