// FlexAttention's BlockMask: full blocks of the lists are entirely visible,
// partial ones through mask_mod, here a causal one. The lists are the same for
// all batch entries and differ between heads.
//
// Dong et al. 2024, "Flex Attention".
func.func @block_mask(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                      %pc: tensor<1x?x?xi32>, %pi: tensor<1x?x?x?xi32>,
                      %fc: tensor<1x?x?xi32>, %fi: tensor<1x?x?x?xi32>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    blocks(%pc, %pi, %fc, %fi : tensor<1x?x?xi32>, tensor<1x?x?x?xi32>, tensor<1x?x?xi32>, tensor<1x?x?x?xi32>,
           size = [128, 64])
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
