// Stripes: 100 of every 256 keys, none for the first 70 queries. Blocks of keys
// are full, partial and without any visible key, in no contiguous range.
!t = tensor<?x?x?x64xbf16>
func.func @stripes(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c256 = arith.constant 256 : index
      %c100 = arith.constant 100 : index
      %c70 = arith.constant 70 : index
      %r = arith.remui %j, %c256 : index
      %in = arith.cmpi slt, %r, %c100 : index
      %late = arith.cmpi sge, %i, %c70 : index
      %keep = arith.andi %in, %late : i1
      attn.yield %keep : i1
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index) {
      %c256 = arith.constant 256 : index
      %c100 = arith.constant 100 : index
      %c70 = arith.constant 70 : index
      %r = arith.remui %j0, %c256 : index
      %d = arith.subi %j1, %j0 : index
      %e = arith.addi %r, %d : index
      %starts = arith.cmpi slt, %r, %c100 : index
      %wraps = arith.cmpi sge, %e, %c256 : index
      %some = arith.ori %starts, %wraps : i1
      %whole = arith.cmpi slt, %e, %c100 : index
      %anyLate = arith.cmpi sge, %i1, %c70 : index
      %allLate = arith.cmpi sge, %i0, %c70 : index
      %any = arith.andi %some, %anyLate : i1
      %all = arith.andi %whole, %allLate : i1
      attn.yield %any, %all : i1, i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Nothing is known to be full; the region reads a captured tensor.
func.func @partial(%q: !t, %k: !t, %v: !t, %offset: tensor<?xi32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%offset : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: tensor<?xi32>) {
      %c64 = arith.constant 64 : index
      %c3 = arith.constant 3 : index
      %c0 = arith.constant 0 : index
      %n = tensor.extract %c[%h] : tensor<?xi32>
      %m = arith.index_cast %n : i32 to index
      %q = arith.divui %j, %c64 : index
      %s = arith.addi %q, %m : index
      %r = arith.remui %s, %c3 : index
      %keep = arith.cmpi eq, %r, %c0 : index
      attn.yield %keep : i1
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %c: tensor<?xi32>) {
      %c64 = arith.constant 64 : index
      %c3 = arith.constant 3 : index
      %c0 = arith.constant 0 : index
      %n = tensor.extract %c[%h] : tensor<?xi32>
      %m = arith.index_cast %n : i32 to index
      %q0 = arith.divui %j0, %c64 : index
      %s0 = arith.addi %q0, %m : index
      %r0 = arith.remui %s0, %c3 : index
      %any0 = arith.cmpi eq, %r0, %c0 : index
      %q1 = arith.divui %j1, %c64 : index
      %more = arith.cmpi ne, %q0, %q1 : index
      %any = arith.ori %any0, %more : i1
      %all = arith.constant false
      attn.yield %any, %all : i1, i1
    } : !t, !t, !t -> !t
  return %o : !t
}
