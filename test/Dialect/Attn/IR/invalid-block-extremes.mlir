// RUN: fovea-opt %s -split-input-file -verify-diagnostics

!t = tensor<2x4x?x64xbf16>
func.func @in_mask(%q: !t, %d: tensor<2x?xi32>) {
  %o = attn.forward %q, %q, %q captures(%d : tensor<2x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<2x?xi32>) {
      // expected-error @+1 {{is only valid in 'kv_classify' of an attention op}}
      %x = attn.block_min %d[%b, %i to %j] : tensor<2x?xi32>
      %keep = arith.cmpi sge, %x, %x : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return
}

// -----

!t = tensor<2x4x?x64xbf16>
func.func @outside(%d: tensor<2x?xi32>, %i: index) {
  // expected-error @+1 {{is only valid in 'kv_classify' of an attention op}}
  %x = attn.block_max %d[%i, %i to %i] : tensor<2x?xi32>
  return
}

// -----

!t = tensor<2x4x?x64xbf16>
func.func @floats(%q: !t, %d: tensor<2x?xf32>) {
  %o = attn.forward %q, %q, %q captures(%d : tensor<2x?xf32>)
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %d: tensor<2x?xf32>) {
      // expected-error @+1 {{result #0 must be signless integer}}
      %x = attn.block_min %d[%b, %j0 to %j1] : tensor<2x?xf32>
      %true = arith.constant true
      attn.yield %true, %true : i1, i1
    } : !t, !t, !t -> !t
  return
}

// -----

!t = tensor<2x4x?x64xbf16>
func.func @computed(%q: !t, %d: tensor<2x?xi32>) {
  %o = attn.forward %q, %q, %q captures(%d : tensor<2x?xi32>)
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %d: tensor<2x?xi32>) {
      %e = arith.addi %d, %d : tensor<2x?xi32>
      // expected-error @+1 {{expected a captured tensor, found a value that 'kv_classify' computes}}
      %x = attn.block_min %e[%b, %j0 to %j1] : tensor<2x?xi32>
      %keep = arith.cmpi sge, %x, %x : i32
      attn.yield %keep, %keep : i1, i1
    } : !t, !t, !t -> !t
  return
}

// -----

!t = tensor<2x4x?x64xbf16>
func.func @rank(%q: !t, %d: tensor<2x?xi32>) {
  %o = attn.forward %q, %q, %q captures(%d : tensor<2x?xi32>)
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %d: tensor<2x?xi32>) {
      // expected-error @+1 {{expected 2 indices for 'tensor<2x?xi32>', found 1}}
      %x = attn.block_min %d[%j0 to %j1] : tensor<2x?xi32>
      %keep = arith.cmpi sge, %x, %x : i32
      attn.yield %keep, %keep : i1, i1
    } : !t, !t, !t -> !t
  return
}

// -----

!t = tensor<2x4x?x64xbf16>
func.func @dimension(%q: !t, %d: tensor<2x?xi32>) {
  %o = attn.forward %q, %q, %q captures(%d : tensor<2x?xi32>)
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %d: tensor<2x?xi32>) {
      // expected-error @+1 {{expected a dimension below 2, found -1}}
      %x = "attn.block_min"(%d, %b, %j0, %j1) <{dim = -1 : i64}> : (tensor<2x?xi32>, index, index, index) -> i32
      %keep = arith.cmpi sge, %x, %x : i32
      attn.yield %keep, %keep : i1, i1
    } : !t, !t, !t -> !t
  return
}

// -----

!t = tensor<2x4x?x64xbf16>
func.func @mixed_range(%q: !t, %d: tensor<2x?xi32>) {
  %o = attn.forward %q, %q, %q captures(%d : tensor<2x?xi32>)
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %d: tensor<2x?xi32>) {
      // expected-error @+1 {{expected the range of the block's queries or of its keys, found other values}}
      %x = attn.block_max %d[%b, %i0 to %j1] : tensor<2x?xi32>
      %keep = arith.cmpi sge, %x, %x : i32
      attn.yield %keep, %keep : i1, i1
    } : !t, !t, !t -> !t
  return
}

// -----

!t = tensor<2x4x?x64xbf16>
func.func @two_coordinates(%q: !t, %d: tensor<?x?xi32>) {
  %o = attn.forward %q, %q, %q captures(%d : tensor<?x?xi32>)
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %d: tensor<?x?xi32>) {
      %two = arith.constant 2 : index
      %half = arith.divui %i0, %two : index
      // expected-error @+1 {{expected other indices that do not depend on the block, found one that does}}
      %x = attn.block_max %d[%half, %j0 to %j1] : tensor<?x?xi32>
      %keep = arith.cmpi sge, %x, %x : i32
      attn.yield %keep, %keep : i1, i1
    } : !t, !t, !t -> !t
  return
}

// -----

!t = tensor<2x4x?x64xbf16>
func.func @no_range(%q: !t, %d: tensor<2x?xi32>) {
  %o = attn.forward %q, %q, %q captures(%d : tensor<2x?xi32>)
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %d: tensor<2x?xi32>) {
      // expected-error @+1 {{expected a range of positions, such as '%j0 to %j1', among the indices}}
      %x = attn.block_max %d[%b, %j0] : tensor<2x?xi32>
    } : !t, !t, !t -> !t
  return
}

// -----

!t = tensor<2x4x?x64xbf16>
func.func @two_ranges(%q: !t, %d: tensor<?x?xi32>) {
  %o = attn.forward %q, %q, %q captures(%d : tensor<?x?xi32>)
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %d: tensor<?x?xi32>) {
      // expected-error @+1 {{expected one range of positions, found a second one}}
      %x = attn.block_max %d[%i0 to %i1, %j0 to %j1] : tensor<?x?xi32>
    } : !t, !t, !t -> !t
  return
}
