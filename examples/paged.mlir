// A paged KV cache: keys and values in pages of 64 rows, in any order in a pool.
// Row b of the page table lists the pages of sequence b, which has lengths[b] keys.
// The queries are the newest positions of the sequence.
//
// The caches of vLLM, FlashAttention (page_table, cache_seqlens) and SGLang.
// Sequences may share pages, for example those of a common prefix.
func.func @paged(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x64x?x128xbf16>, %v: tensor<?x64x?x128xbf16>,
                 %page_table: tensor<?x?xi32>, %lengths: tensor<?xi32>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v layout(bshd)
    paged(%page_table, %lengths : tensor<?x?xi32>, tensor<?xi32>, page = 64)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %queries = attn.query_length
      %keys = attn.key_length
      %fromEnd = arith.subi %i, %queries : index
      %last = arith.addi %fromEnd, %keys : index
      %keep = arith.cmpi sle, %j, %last : index
      attn.yield %keep : i1
    }
    : tensor<?x?x?x128xbf16>, tensor<?x64x?x128xbf16>, tensor<?x64x?x128xbf16>
    -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
