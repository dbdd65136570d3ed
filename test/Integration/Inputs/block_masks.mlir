// Partial blocks only; some batch entries have fewer keys.
!t = tensor<?x?x?x64xbf16>
func.func @lengths(%q: !t, %k: !t, %v: !t, %n: tensor<?xi32>, %c: tensor<?x1x?xi32>, %i: tensor<?x1x?x?xi32>) -> (!t, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v lengths(%n : tensor<?xi32>)
    blocks(%c, %i : tensor<?x1x?xi32>, tensor<?x1x?x?xi32>, size = [64, 64])
    mask_mod(%b: index, %h: index, %i1: index, %j: index) {
      %d = arith.subi %i1, %j : index
      %w = arith.constant 40 : index
      %keep = arith.cmpi slt, %d, %w : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, tensor<?x?x?xf32>
  return %o, %lse : !t, tensor<?x?x?xf32>
}

// Both lists without a mask, scores that are changed; blocks of several tiles.
!u = tensor<?x?x?x128xf16>
func.func @scores(%q: !u, %k: !u, %v: !u, %pc: tensor<1x1x?xi32>, %pi: tensor<1x1x?x?xi32>, %fc: tensor<?x?x?xi32>, %fi: tensor<?x?x?x?xi32>) -> !u {
  %o = attn.forward %q, %k, %v
    blocks(%pc, %pi, %fc, %fi : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<?x?x?xi32>, tensor<?x?x?x?xi32>, size = [256, 384])
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %d = arith.subi %j, %i : index
      %n = arith.index_cast %d : index to i32
      %f = arith.sitofp %n : i32 to f32
      %c = arith.constant 0.01 : f32
      %x = arith.mulf %f, %c : f32
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    } : !u, !u, !u -> !u
  return %o : !u
}

// A mask that reads a tensor, in partial blocks, with full blocks.
func.func @captures(%q: !t, %k: !t, %v: !t, %doc: tensor<?xi32>, %pc: tensor<?x?x?xi32>, %pi: tensor<?x?x?x?xi32>, %fc: tensor<?x?x?xi32>, %fi: tensor<?x?x?x?xi32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%doc : tensor<?xi32>)
    blocks(%pc, %pi, %fc, %fi : tensor<?x?x?xi32>, tensor<?x?x?x?xi32>, tensor<?x?x?xi32>, tensor<?x?x?x?xi32>, size = [32, 32])
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?xi32>) {
      %x = tensor.extract %d[%i] : tensor<?xi32>
      %y = tensor.extract %d[%j] : tensor<?xi32>
      %keep = arith.cmpi eq, %x, %y : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
