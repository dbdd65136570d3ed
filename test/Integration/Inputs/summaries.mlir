// Data-dependent masks, analysed by the block min/max of captured tensors: element
// types, dimensions, and sequences of all kinds.
!t = tensor<?x?x?x64xbf16>
!lse = tensor<?x?x?xf32>

// One tensor for queries and keys, and a range as well.
func.func @documents(%q: !t, %k: !t, %v: !t, %doc: tensor<?x?xi32>) -> (!t, !lse) {
  %o, %lse = attn.forward %q, %k, %v captures(%doc : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?x?xi32>) {
      %x = tensor.extract %d[%b, %i] : tensor<?x?xi32>
      %y = tensor.extract %d[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      %causal = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %same, %causal : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !lse
  return %o, %lse : !t, !lse
}

// Queries and keys have tensors of their own, one of them by head and with the
// positions first.
func.func @pairs(%q: !t, %k: !t, %v: !t, %qdoc: tensor<?x?xi8>, %kdoc: tensor<?x?x?xi8>) -> (!t, !lse) {
  %o, %lse = attn.forward %q, %k, %v captures(%qdoc, %kdoc : tensor<?x?xi8>, tensor<?x?x?xi8>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %qd: tensor<?x?xi8>, %kd: tensor<?x?x?xi8>) {
      %x = tensor.extract %qd[%b, %i] : tensor<?x?xi8>
      %y = tensor.extract %kd[%j, %b, %h] : tensor<?x?x?xi8>
      %keep = arith.cmpi eq, %x, %y : i8
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !lse
  return %o, %lse : !t, !lse
}

// Positions in time, in any order.
func.func @positions(%q: !t, %k: !t, %v: !t, %time: tensor<?xi64>) -> (!t, !lse) {
  %o, %lse = attn.forward %q, %k, %v captures(%time : tensor<?xi64>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xi64>) {
      %x = tensor.extract %t[%i] : tensor<?xi64>
      %y = tensor.extract %t[%j] : tensor<?xi64>
      %keep = arith.cmpi sge, %x, %y : i64
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !lse
  return %o, %lse : !t, !lse
}

// Documents as in PyTorch: arithmetic on integers is done on indices.
func.func @wide_documents(%q: !t, %k: !t, %v: !t, %doc: tensor<?x?xi64>) -> (!t, !lse) {
  %o, %lse = attn.forward %q, %k, %v captures(%doc : tensor<?x?xi64>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?x?xi64>) {
      %x = tensor.extract %d[%b, %i] : tensor<?x?xi64>
      %y = tensor.extract %d[%b, %j] : tensor<?x?xi64>
      %m = arith.index_cast %x : i64 to index
      %n = arith.index_cast %y : i64 to index
      %same = arith.cmpi eq, %m, %n : index
      %causal = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %same, %causal : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !lse
  return %o, %lse : !t, !lse
}

// Arithmetic on 64-bit integers, on their block min/max, and on a uniform one;
// an arbitrary length, and one that is added to a position.
func.func @wide_numbers(%q: !t, %k: !t, %v: !t, %doc: tensor<?x?xi64>, %count: tensor<?xi64>) -> (!t, !lse) {
  %o, %lse = attn.forward %q, %k, %v captures(%doc, %count : tensor<?x?xi64>, tensor<?xi64>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?x?xi64>, %c: tensor<?xi64>) {
      %large = arith.constant 4294967296 : index
      %n0 = tensor.extract %c[%b] : tensor<?xi64>
      %n = arith.index_cast %n0 : i64 to index
      %y = tensor.extract %d[%b, %j] : tensor<?x?xi64>
      %m = arith.index_cast %y : i64 to index
      %group = arith.floordivsi %m, %large : index
      %first = arith.floordivsi %n, %large : index
      %late = arith.cmpi sge, %group, %first : index
      %low = arith.remui %n, %large : index
      %near = arith.cmpi slt, %j, %low : index
      %there = arith.cmpi ne, %m, %large : index
      %both = arith.andi %late, %near : i1
      %keep = arith.andi %both, %there : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !lse
  return %o, %lse : !t, !lse
}

// Keys that are there at all.
func.func @padding(%q: !t, %k: !t, %v: !t, %valid: tensor<?x?xi1>) -> (!t, !lse) {
  %o, %lse = attn.forward %q, %k, %v captures(%valid : tensor<?x?xi1>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %there: tensor<?x?xi1>) {
      %keep = tensor.extract %there[%b, %j] : tensor<?x?xi1>
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !lse
  return %o, %lse : !t, !lse
}

// A length of each batch entry, captured: a range, no summary.
func.func @counts(%q: !t, %k: !t, %v: !t, %count: tensor<?xi32>) -> (!t, !lse) {
  %o, %lse = attn.forward %q, %k, %v captures(%count : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: tensor<?xi32>) {
      %n = tensor.extract %c[%b] : tensor<?xi32>
      %m = arith.index_cast %n : i32 to index
      %keep = arith.cmpi slt, %j, %m : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !lse
  return %o, %lse : !t, !lse
}

// Entries of different lengths.
func.func @lengths(%q: !t, %k: !t, %v: !t, %lengths: tensor<?xi32>, %doc: tensor<?x?xi32>) -> (!t, !lse) {
  %o, %lse = attn.forward %q, %k, %v lengths(%lengths : tensor<?xi32>) captures(%doc : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?x?xi32>) {
      %x = tensor.extract %d[%b, %i] : tensor<?x?xi32>
      %y = tensor.extract %d[%b, %j] : tensor<?x?xi32>
      %keep = arith.cmpi eq, %x, %y : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !lse
  return %o, %lse : !t, !lse
}

// Sequences in a row; a tensor's rows are those of sequences.
func.func @packed(%q: !t, %k: !t, %v: !t, %cuq: tensor<?xi32>, %cuk: tensor<?xi32>, %doc: tensor<?x?xi32>) -> (!t, !lse) {
  %o, %lse = attn.forward %q, %k, %v packed(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>) captures(%doc : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?x?xi32>) {
      %x = tensor.extract %d[%b, %i] : tensor<?x?xi32>
      %y = tensor.extract %d[%b, %j] : tensor<?x?xi32>
      %keep = arith.cmpi eq, %x, %y : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !lse
  return %o, %lse : !t, !lse
}
