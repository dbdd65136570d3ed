// Gradients with block-sparse lists and their transposed lists: the programs of
// backward-query-blocks-*.test.

!t = tensor<?x?x?x64xbf16>
!rows = tensor<?x?x?xf32>
!n = tensor<?x1x?xi32>
!i = tensor<?x1x?x?xi32>
!one = tensor<1x1x?xi32>
!ones = tensor<1x1x?x?xi32>
!all = tensor<?x?x?xi32>
!alls = tensor<?x?x?x?xi32>
func.func @masked(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %c: !n, %l: !i, %tc: !n, %tl: !i) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do blocks(%c, %l : !n, !i, size = [128, 128])
    query_blocks(%tc, %tl : !n, !i)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %d = arith.subi %i, %j : index
      %w = arith.constant 40 : index
      %keep = arith.cmpi slt, %d, %w : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @full(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %pc: !one, %pi: !ones, %fc: !all, %fi: !alls, %tpc: !one, %tpi: !ones, %tfc: !all, %tfi: !alls) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    blocks(%pc, %pi, %fc, %fi : !one, !ones, !all, !alls, size = [192, 384])
    query_blocks(%tpc, %tpi, %tfc, %tfi : !one, !ones, !all, !alls)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %t = math.tanh %s : f32
      attn.yield %t : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @narrow(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %pc: !all, %pi: !alls, %fc: !one, %fi: !ones, %tpc: !all, %tpi: !alls, %tfc: !one, %tfi: !ones) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    blocks(%pc, %pi, %fc, %fi : !all, !alls, !one, !ones, size = [48, 16])
    query_blocks(%tpc, %tpi, %tfc, %tfi : !all, !alls, !one, !ones)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @long(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %pc: !one, %pi: !ones, %fc: !all, %fi: !alls, %tpc: !one, %tpi: !ones, %tfc: !all, %tfi: !alls) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    blocks(%pc, %pi, %fc, %fi : !one, !ones, !all, !alls, size = [536870912, 64])
    query_blocks(%tpc, %tpi, %tfc, %tfi : !one, !ones, !all, !alls)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

!w = tensor<?x?x?x192xf16>
func.func @wide(%q: !w, %k: !w, %v: !w, %o: !w, %lse: !rows, %do: !w, %c: !n, %l: !i, %tc: !n, %tl: !i) -> (!w, !w, !w) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do blocks(%c, %l : !n, !i, size = [128, 64])
    query_blocks(%tc, %tl : !n, !i) : !w, !w, !w, !w, !rows, !w -> !w, !w, !w
  return %0#0, %0#1, %0#2 : !w, !w, !w
}

func.func @lengths(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %lengths: tensor<?xi32>, %c: !n, %l: !i, %tc: !n, %tl: !i) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do lengths(%lengths : tensor<?xi32>)
    blocks(%c, %l : !n, !i, size = [64, 128]) query_blocks(%tc, %tl : !n, !i)
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

!s = tensor<?xf32>
func.func @read(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %slopes: !s, %seed: i64, %offset: i64, %pc: !one, %pi: !ones, %fc: !all, %fi: !alls, %tpc: !one, %tpi: !ones, %tfc: !all, %tfi: !alls) -> (!t, !t, !t, !s) {
  %0:4 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0])
    dropout(0.25, %seed, %offset) captures(%slopes : !s)
    blocks(%pc, %pi, %fc, %fi : !one, !ones, !all, !alls, size = [128, 128])
    query_blocks(%tpc, %tpi, %tfc, %tfi : !one, !ones, !all, !alls)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: !s) {
      %slope = tensor.extract %t[%h] : !s
      %r = arith.mulf %s, %slope : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: !s) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t, !s
  return %0#0, %0#1, %0#2, %0#3 : !t, !t, !t, !s
}
