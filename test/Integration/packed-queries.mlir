// Few queries: heads that share keys and all their queries are rows of one tile.
// Queries that don't fill a power of two, groups that don't fill a tile and
// groups of two tiles; masks and scores that know head and query; either layout.
// REQUIRES: fovea-run
// DEFINE: %{run} = fovea-run %s --check --random=1 --magnitude=2 --dims B=2,Skv=150
// RUN: %{run},capture0.0=8 --entry=two --level=tile --target=sm_80
// RUN: %{run} --entry=three --level=tile --target=sm_80
// RUN: %{run} --entry=seven --level=tile --target=sm_90a
// RUN: %{run} --entry=sixteen --level=tile --target=sm_80
// RUN: %{run} --entry=sixteen --level=tile --target=sm_90a
// RUN: %{run},capture0.0=8 --entry=two --level=warp --seeds=3 --target=sm_80
// RUN: %{run} --entry=three --level=warp --seeds=3 --target=sm_80
// RUN: %{run} --entry=three --level=warp --seeds=3 --target=sm_90a
// RUN: %{run} --entry=seven --level=warp --seeds=3 --target=sm_90a
// RUN: %{run} --entry=sixteen --level=warp --target=sm_80 --schedule=tile_m=16,warps=1
// RUN: %{run} --entry=sixteen --level=warp --seeds=3 --target=sm_90a

// Aligned to the end of each sequence, ALiBi, a sink for each head.
!q2 = tensor<?x8x2x64xbf16>
!k = tensor<?x2x?x64xbf16>
func.func @two(%q: !q2, %k: !k, %v: !k, %slopes: tensor<?xf32>, %sinks: tensor<8xf32>, %n: tensor<?xi32>) -> (!q2, tensor<?x8x2xf32>) {
  %o, %lse = attn.forward %q, %k, %v captures(%slopes : tensor<?xf32>) lengths(%n : tensor<?xi32>) sinks(%sinks : tensor<8xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>) {
      %slope = tensor.extract %t[%h] : tensor<?xf32>
      %d = arith.subi %j, %i : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32
      %bias = arith.mulf %slope, %df : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>) {
      %m = attn.query_length
      %len = attn.key_length
      %x = arith.subi %i, %m : index
      %y = arith.subi %j, %len : index
      %keep = arith.cmpi sge, %x, %y : index
      attn.yield %keep : i1
    } : !q2, !k, !k -> !q2, tensor<?x8x2xf32>
  return %o, %lse : !q2, tensor<?x8x2xf32>
}

// Heads with windows of their own, as bshd.
!q3 = tensor<?x3x8x64xbf16>
!kt = tensor<?x?x2x64xbf16>
func.func @three(%q: !q3, %k: !kt, %v: !kt) -> (!q3, tensor<?x8x3xf32>) {
  %o, %lse = attn.forward %q, %k, %v layout(bshd)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c20 = arith.constant 20 : index
      %c50 = arith.constant 50 : index
      %w = arith.muli %h, %c20 : index
      %at = arith.muli %i, %c50 : index
      %d = arith.subi %at, %j : index
      %keep = arith.cmpi slt, %d, %w : index
      attn.yield %keep : i1
    } : !q3, !kt, !kt -> !q3, tensor<?x8x3xf32>
  return %o, %lse : !q3, tensor<?x8x3xf32>
}

// Query 0 sees nothing; head dims that differ, and no multiples of 16.
!q7 = tensor<?x8x7x40xf16>
!k7 = tensor<?x1x?x40xf16>
!v7 = tensor<?x1x?x72xf16>
!o7 = tensor<?x8x7x72xf16>
func.func @seven(%q: !q7, %k: !k7, %v: !v7) -> !o7 {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi slt, %j, %i : index
      attn.yield %keep : i1
    } : !q7, !k7, !v7 -> !o7
  return %o : !o7
}

// A group of 128 rows.
!q16 = tensor<?x8x16x128xbf16>
!k16 = tensor<?x1x?x128xbf16>
func.func @sixteen(%q: !q16, %k: !k16, %v: !k16) -> (!q16, tensor<?x8x16xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 5.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %r = arith.mulf %t, %cap : f32
      attn.yield %r : f32
    } : !q16, !k16, !k16 -> !q16, tensor<?x8x16xf32>
  return %o, %lse : !q16, tensor<?x8x16xf32>
}
