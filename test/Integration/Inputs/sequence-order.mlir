// Packed sequences whose scores depend on the sequence's index.
!q = tensor<1x4x?x16xbf16>
!k = tensor<1x2x?x16xbf16>
!lse = tensor<1x4x?xf32>
!n = tensor<?xi32>
!t = tensor<?xf32>

func.func @full(%q: !q, %k: !k, %v: !k, %cuq: !n, %cuk: !n, %temperature: !t) -> (!q, !lse) {
  %o, %lse = attn.forward %q, %k, %v packed(%cuq, %cuk : !n, !n) captures(%temperature : !t)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: !t) {
      %x = tensor.extract %t[%b] : !t
      %r = arith.mulf %s, %x : f32
      attn.yield %r : f32
    } : !q, !k, !k -> !q, !lse
  return %o, %lse : !q, !lse
}

func.func @causal(%q: !q, %k: !k, %v: !k, %cuq: !n, %cuk: !n, %temperature: !t) -> (!q, !lse) {
  %o, %lse = attn.forward %q, %k, %v packed(%cuq, %cuk : !n, !n) captures(%temperature : !t)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: !t) {
      %x = tensor.extract %t[%b] : !t
      %r = arith.mulf %s, %x : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: !t) {
      %m = attn.query_length
      %n = attn.key_length
      %x = arith.subi %i, %m : index
      %y = arith.subi %j, %n : index
      %keep = arith.cmpi sge, %x, %y : index
      attn.yield %keep : i1
    } : !q, !k, !k -> !q, !lse
  return %o, %lse : !q, !lse
}
