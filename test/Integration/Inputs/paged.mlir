// Variants over pages of 128 and of 64 rows.

!q = tensor<?x?x?x64xbf16>
!pool = tensor<?x?x128x64xbf16>
!lse = tensor<?x?x?xf32>

// A causal window, aligned to the last key, under a bias by distance.
func.func @window(%q: !q, %k: !pool, %v: !pool, %page_table: tensor<?x?xi32>, %lengths: tensor<?xi32>, %slopes: tensor<?xf32>) -> (!q, !lse) {
  %o, %lse = attn.forward %q, %k, %v paged(%page_table, %lengths : tensor<?x?xi32>, tensor<?xi32>, page = 128)
    captures(%slopes : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %sl: tensor<?xf32>) {
      %slope = tensor.extract %sl[%h] : tensor<?xf32>
      %d = arith.subi %j, %i : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32
      %bias = arith.mulf %slope, %df : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %sl: tensor<?xf32>) {
      %queries = attn.query_length
      %keys = attn.key_length
      %fromEnd = arith.subi %i, %queries : index
      %last = arith.addi %fromEnd, %keys : index
      %c100 = arith.constant 100 : index
      %first = arith.subi %last, %c100 : index
      %below = arith.cmpi sle, %j, %last : index
      %above = arith.cmpi sgt, %j, %first : index
      %keep = arith.andi %below, %above : i1
      attn.yield %keep : i1
    } : !q, !pool, !pool -> !q, !lse
  return %o, %lse : !q, !lse
}

// A decoding step: query heads that share keys are rows of one tile.
!one = tensor<?x8x1x64xbf16>
!keys = tensor<?x2x64x64xbf16>
func.func @decode(%q: !one, %k: !keys, %v: !keys, %page_table: tensor<?x?xi32>, %lengths: tensor<?xi32>) -> (!one, tensor<?x8x1xf32>) {
  %o, %lse = attn.forward %q, %k, %v paged(%page_table, %lengths : tensor<?x?xi32>, tensor<?xi32>, page = 64)
    : !one, !keys, !keys -> !one, tensor<?x8x1xf32>
  return %o, %lse : !one, tensor<?x8x1xf32>
}

// Block-sparse lists name blocks of logical keys, which are half of a page here.
!lists = tensor<?x1x?xi32>
!blocks = tensor<?x1x?x?xi32>
func.func @lists(%q: !q, %k: !pool, %v: !pool, %page_table: tensor<?x?xi32>, %lengths: tensor<?xi32>,
                 %pc: !lists, %pi: !blocks, %fc: !lists, %fi: !blocks) -> (!q, !lse) {
  %o, %lse = attn.forward %q, %k, %v paged(%page_table, %lengths : tensor<?x?xi32>, tensor<?xi32>, page = 128)
    blocks(%pc, %pi, %fc, %fi : !lists, !blocks, !lists, !blocks, size = [128, 64])
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    } : !q, !pool, !pool -> !q, !lse
  return %o, %lse : !q, !lse
}

// A mask of data, whose blocks a runtime predicate selects on sm_90a.
func.func @documents(%q: !q, %k: !pool, %v: !pool, %page_table: tensor<?x?xi32>, %lengths: tensor<?xi32>, %doc: tensor<?x?xi32>) -> (!q, !lse) {
  %o, %lse = attn.forward %q, %k, %v paged(%page_table, %lengths : tensor<?x?xi32>, tensor<?xi32>, page = 128)
    captures(%doc : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?x?xi32>) {
      %a = tensor.extract %d[%b, %i] : tensor<?x?xi32>
      %c = tensor.extract %d[%b, %j] : tensor<?x?xi32>
      %keep = arith.cmpi eq, %a, %c : i32
      attn.yield %keep : i1
    } : !q, !pool, !pool -> !q, !lse
  return %o, %lse : !q, !lse
}
