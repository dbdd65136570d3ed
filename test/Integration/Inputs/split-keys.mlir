// Forwards whose keys several CTAs may share: few queries with grouped heads, and any queries with
// the schedule 'shares'.
func.func @decode(%q: tensor<?x8x1x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>, %lengths: tensor<?xi32>)
    -> (tensor<?x8x1x64xbf16>, tensor<?x8x1xf32>) {
  %o, %lse = attn.forward %q, %k, %v lengths(%lengths : tensor<?xi32>)
    : tensor<?x8x1x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16> -> tensor<?x8x1x64xbf16>, tensor<?x8x1xf32>
  return %o, %lse : tensor<?x8x1x64xbf16>, tensor<?x8x1xf32>
}

// Three queries of seven heads, each of which sees the keys up to its own, at most 200 of them; a
// soft cap; sinks.
func.func @drafts(%q: tensor<?x14x3x128xbf16>, %k: tensor<?x2x?x128xbf16>, %v: tensor<?x2x?x128xbf16>, %lengths: tensor<?xi32>, %sinks: tensor<14xf32>)
    -> (tensor<?x14x3x128xbf16>, tensor<?x14x3xf32>) {
  %o, %lse = attn.forward %q, %k, %v lengths(%lengths : tensor<?xi32>) sinks(%sinks : tensor<14xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 2.0 : f32
      %part = arith.divf %s, %cap : f32
      %bent = math.tanh %part : f32
      %soft = arith.mulf %bent, %cap : f32
      attn.yield %soft : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = attn.key_length
      %m = attn.query_length
      %before = arith.subi %n, %m : index
      %own = arith.addi %before, %i : index
      %isBefore = arith.cmpi sle, %j, %own : index
      %c200 = arith.constant 200 : index
      %first = arith.subi %own, %c200 : index
      %isNear = arith.cmpi sgt, %j, %first : index
      %keep = arith.andi %isBefore, %isNear : i1
      attn.yield %keep : i1
    }
    : tensor<?x14x3x128xbf16>, tensor<?x2x?x128xbf16>, tensor<?x2x?x128xbf16> -> tensor<?x14x3x128xbf16>, tensor<?x14x3xf32>
  return %o, %lse : tensor<?x14x3x128xbf16>, tensor<?x14x3xf32>
}

// Sixteen queries of one head each, in pages.
func.func @pages(%q: tensor<?x2x16x64xf16>, %k: tensor<?x2x32x64xf16>, %v: tensor<?x2x32x64xf16>, %table: tensor<?x?xi32>, %lengths: tensor<?xi32>)
    -> (tensor<?x2x16x64xf16>, tensor<?x2x16xf32>) {
  %o, %lse = attn.forward %q, %k, %v paged(%table, %lengths : tensor<?x?xi32>, tensor<?xi32>, page = 32)
    : tensor<?x2x16x64xf16>, tensor<?x2x32x64xf16>, tensor<?x2x32x64xf16> -> tensor<?x2x16x64xf16>, tensor<?x2x16xf32>
  return %o, %lse : tensor<?x2x16x64xf16>, tensor<?x2x16xf32>
}

// Tiles of queries with different numbers of blocks: causal, aligned to the last key.
func.func @prefill(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = attn.key_length
      %m = attn.query_length
      %before = arith.subi %n, %m : index
      %own = arith.addi %before, %i : index
      %keep = arith.cmpi sle, %j, %own : index
      attn.yield %keep : i1
    }
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}

// Packed queries of different numbers, four heads of a query in adjacent rows, over pages; the keys
// up to each query, at most 100; a soft cap.
func.func @mixed(%q: tensor<1x8x?x64xbf16>, %k: tensor<?x2x16x64xbf16>, %v: tensor<?x2x16x64xbf16>, %cu_q: tensor<?xi32>, %table: tensor<?x?xi32>, %lengths: tensor<?xi32>)
    -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    packed(%cu_q : tensor<?xi32>) paged(%table, %lengths : tensor<?x?xi32>, tensor<?xi32>, page = 16)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 2.0 : f32
      %part = arith.divf %s, %cap : f32
      %bent = math.tanh %part : f32
      %soft = arith.mulf %bent, %cap : f32
      attn.yield %soft : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = attn.key_length
      %m = attn.query_length
      %before = arith.subi %n, %m : index
      %own = arith.addi %before, %i : index
      %isBefore = arith.cmpi sle, %j, %own : index
      %c100 = arith.constant 100 : index
      %first = arith.subi %own, %c100 : index
      %isNear = arith.cmpi sgt, %j, %first : index
      %keep = arith.andi %isBefore, %isNear : i1
      attn.yield %keep : i1
    }
    : tensor<1x8x?x64xbf16>, tensor<?x2x16x64xbf16>, tensor<?x2x16x64xbf16> -> tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>
  return %o, %lse : tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>
}

// Packed queries over keys with lengths; a bias that depends on head, query and key; sinks.
func.func @chunks(%q: tensor<1x4x?x128xbf16>, %k: tensor<?x2x?x128xbf16>, %v: tensor<?x2x?x128xbf16>, %cu_q: tensor<?xi32>, %lengths: tensor<?xi32>, %sinks: tensor<4xf32>)
    -> (tensor<1x4x?x128xbf16>, tensor<1x4x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    packed(%cu_q : tensor<?xi32>) lengths(%lengths : tensor<?xi32>) sinks(%sinks : tensor<4xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c1 = arith.constant 1 : index
      %number = arith.addi %h, %c1 : index
      %distance = arith.subi %i, %j : index
      %product = arith.muli %number, %distance : index
      %integer = arith.index_cast %product : index to i32
      %float = arith.sitofp %integer : i32 to f32
      %c = arith.constant 0.01 : f32
      %bias = arith.mulf %float, %c : f32
      %sum = arith.addf %s, %bias : f32
      attn.yield %sum : f32
    }
    : tensor<1x4x?x128xbf16>, tensor<?x2x?x128xbf16>, tensor<?x2x?x128xbf16> -> tensor<1x4x?x128xbf16>, tensor<1x4x?xf32>
  return %o, %lse : tensor<1x4x?x128xbf16>, tensor<1x4x?xf32>
}

// Packed queries with a window by head, so that the heads of a sequence have different blocks.
func.func @windows(%q: tensor<1x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>, %cu_q: tensor<?xi32>, %lengths: tensor<?xi32>)
    -> (tensor<1x4x?x64xbf16>, tensor<1x4x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v packed(%cu_q : tensor<?xi32>) lengths(%lengths : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = attn.key_length
      %m = attn.query_length
      %before = arith.subi %n, %m : index
      %own = arith.addi %before, %i : index
      %isBefore = arith.cmpi sle, %j, %own : index
      %c70 = arith.constant 70 : index
      %width = arith.muli %h, %c70 : index
      %first = arith.subi %own, %width : index
      %isNear = arith.cmpi sge, %j, %first : index
      %keep = arith.andi %isBefore, %isNear : i1
      attn.yield %keep : i1
    }
    : tensor<1x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16> -> tensor<1x4x?x64xbf16>, tensor<1x4x?xf32>
  return %o, %lse : tensor<1x4x?x64xbf16>, tensor<1x4x?xf32>
}

// Packed queries, three heads of a query in four adjacent rows, with sinks and a slope per head.
func.func @threes(%q: tensor<1x6x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>, %cu_q: tensor<?xi32>, %lengths: tensor<?xi32>, %sinks: tensor<6xf32>, %slopes: tensor<6xf32>)
    -> (tensor<1x6x?x64xbf16>, tensor<1x6x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v packed(%cu_q : tensor<?xi32>) lengths(%lengths : tensor<?xi32>) sinks(%sinks : tensor<6xf32>)
    captures(%slopes : tensor<6xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %a: tensor<6xf32>) {
      %slope = tensor.extract %a[%h] : tensor<6xf32>
      %distance = arith.subi %i, %j : index
      %integer = arith.index_cast %distance : index to i32
      %float = arith.sitofp %integer : i32 to f32
      %c = arith.constant 0.01 : f32
      %far = arith.mulf %float, %c : f32
      %bias = arith.mulf %slope, %far : f32
      %sum = arith.addf %s, %bias : f32
      attn.yield %sum : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %a: tensor<6xf32>) {
      %n = attn.key_length
      %m = attn.query_length
      %before = arith.subi %n, %m : index
      %own = arith.addi %before, %i : index
      %keep = arith.cmpi sle, %j, %own : index
      attn.yield %keep : i1
    }
    : tensor<1x6x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16> -> tensor<1x6x?x64xbf16>, tensor<1x6x?xf32>
  return %o, %lse : tensor<1x6x?x64xbf16>, tensor<1x6x?xf32>
}

// Packed queries of different numbers, four heads of a query in adjacent rows, over pages that are
// one list; the keys up to each query, at most 100; a soft cap.
func.func @listed(%q: tensor<1x8x?x64xbf16>, %k: tensor<?x2x16x64xbf16>, %v: tensor<?x2x16x64xbf16>, %cu_q: tensor<?xi32>, %pages: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>)
    -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    packed(%cu_q : tensor<?xi32>) paged(%pages, %starts, %lengths : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, page = 16)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 2.0 : f32
      %part = arith.divf %s, %cap : f32
      %bent = math.tanh %part : f32
      %soft = arith.mulf %bent, %cap : f32
      attn.yield %soft : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = attn.key_length
      %m = attn.query_length
      %before = arith.subi %n, %m : index
      %own = arith.addi %before, %i : index
      %isBefore = arith.cmpi sle, %j, %own : index
      %c100 = arith.constant 100 : index
      %first = arith.subi %own, %c100 : index
      %isNear = arith.cmpi sgt, %j, %first : index
      %keep = arith.andi %isBefore, %isNear : i1
      attn.yield %keep : i1
    }
    : tensor<1x8x?x64xbf16>, tensor<?x2x16x64xbf16>, tensor<?x2x16x64xbf16> -> tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>
  return %o, %lse : tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>
}

// Packed queries of different numbers, four heads of a query in adjacent rows, over pages of one
// row each in one list; the keys up to each query, at most 100; a soft cap.
func.func @tokens(%q: tensor<1x8x?x64xbf16>, %k: tensor<?x2x1x64xbf16>, %v: tensor<?x2x1x64xbf16>, %cu_q: tensor<?xi32>, %pages: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>)
    -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    packed(%cu_q : tensor<?xi32>) paged(%pages, %starts, %lengths : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, page = 1)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 2.0 : f32
      %part = arith.divf %s, %cap : f32
      %bent = math.tanh %part : f32
      %soft = arith.mulf %bent, %cap : f32
      attn.yield %soft : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = attn.key_length
      %m = attn.query_length
      %before = arith.subi %n, %m : index
      %own = arith.addi %before, %i : index
      %isBefore = arith.cmpi sle, %j, %own : index
      %c100 = arith.constant 100 : index
      %first = arith.subi %own, %c100 : index
      %isNear = arith.cmpi sgt, %j, %first : index
      %keep = arith.andi %isBefore, %isNear : i1
      attn.yield %keep : i1
    }
    : tensor<1x8x?x64xbf16>, tensor<?x2x1x64xbf16>, tensor<?x2x1x64xbf16> -> tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>
  return %o, %lse : tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>
}

// Two queries over pages of 12 rows, which do not divide a tile.
func.func @rows(%q: tensor<?x4x2x64xf16>, %k: tensor<?x2x12x64xf16>, %v: tensor<?x2x12x64xf16>, %table: tensor<?x?xi32>, %lengths: tensor<?xi32>)
    -> (tensor<?x4x2x64xf16>, tensor<?x4x2xf32>) {
  %o, %lse = attn.forward %q, %k, %v paged(%table, %lengths : tensor<?x?xi32>, tensor<?xi32>, page = 12)
    : tensor<?x4x2x64xf16>, tensor<?x2x12x64xf16>, tensor<?x2x12x64xf16> -> tensor<?x4x2x64xf16>, tensor<?x4x2xf32>
  return %o, %lse : tensor<?x4x2x64xf16>, tensor<?x4x2xf32>
}
