// Attention over the blocks of keys that a list gives for each block of queries:
// BigBird's random blocks, the choice of a routing network, pages found by
// retrieval. Each head of each batch entry has its own list; a block is 128
// queries by 128 keys.
//
// Big Bird: Zaheer et al. 2020. FlexAttention: Dong et al. 2024.
func.func @block_sparse(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                        %count: tensor<?x?x?xi32>, %index: tensor<?x?x?x?xi32>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    blocks(%count, %index : tensor<?x?x?xi32>, tensor<?x?x?x?xi32>, size = [128, 128])
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
