// RUN: fovea-opt %s -split-input-file -verify-diagnostics

!t = tensor<2x4x300x32xf16>
func.func @three_lists(%q: !t, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>) -> !t {
  // expected-error @+1 {{blocks must have a count and an index tensor, for partial blocks and optionally for full ones, found 3 tensors}}
  %o = attn.forward %q, %q, %q
    blocks(%c, %i, %c : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, tensor<2x4x3xi32>, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x300x32xf16>
func.func @one_size(%q: !t, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>) -> !t {
  // expected-error @+1 {{block size must have two numbers, queries and keys, found 1}}
  %o = attn.forward %q, %q, %q
    blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, size = [128]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x300x32xf16>
func.func @no_size(%q: !t, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>) -> !t {
  // expected-error @+1 {{block size must have two numbers, queries and keys, found 0}}
  %o = "attn.forward"(%q, %q, %q, %c, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2>, sequence = #attn.dense}> ({}, {}, {}, {})
    : (!t, !t, !t, tensor<2x4x3xi32>, tensor<2x4x3x5xi32>) -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x300x32xf16>
func.func @only_size(%q: !t) -> !t {
  // expected-error @+1 {{block size needs block lists, found none}}
  %o = "attn.forward"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>, blockSize = array<i64: 128, 128>, sequence = #attn.dense}> ({}, {}, {}, {})
    : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x300x32xf16>
func.func @zero_size(%q: !t, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>) -> !t {
  // expected-error @+1 {{block size must be from 1 to 2^29, found [128, 0]}}
  %o = attn.forward %q, %q, %q
    blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, size = [128, 0]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x300x32xf16>
func.func @rank(%q: !t, %c: tensor<2x4x3xi32>) -> !t {
  // expected-error @+1 {{'partial_index' must be an i32 tensor of rank 4, found 'tensor<2x4x3xi32>'}}
  %o = attn.forward %q, %q, %q
    blocks(%c, %c : tensor<2x4x3xi32>, tensor<2x4x3xi32>, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x300x32xf16>
func.func @element(%q: !t, %c: tensor<2x4x3xi64>, %i: tensor<2x4x3x5xi32>) -> !t {
  // expected-error @+1 {{'partial_count' must be an i32 tensor of rank 3, found 'tensor<2x4x3xi64>'}}
  %o = attn.forward %q, %q, %q
    blocks(%c, %i : tensor<2x4x3xi64>, tensor<2x4x3x5xi32>, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x300x32xf16>
func.func @batch(%q: !t, %c: tensor<3x4x3xi32>, %i: tensor<3x4x3x5xi32>) -> !t {
  // expected-error @+1 {{dimension 0 of 'partial_count' must be 1 or the batch size 2, found 'tensor<3x4x3xi32>'}}
  %o = attn.forward %q, %q, %q
    blocks(%c, %i : tensor<3x4x3xi32>, tensor<3x4x3x5xi32>, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x?x300x32xf16>
func.func @heads(%q: !t, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>) -> !t {
  // expected-error @+1 {{dimension 1 of 'partial_count' must be 1 or the number of query heads '?', found 4}}
  %o = attn.forward %q, %q, %q
    blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x300x32xf16>
func.func @disagree(%q: !t, %c: tensor<2x1x3xi32>, %i: tensor<2x4x3x5xi32>) -> !t {
  // expected-error @+1 {{'partial_count' and 'partial_index' must agree in their first three dimensions}}
  %o = attn.forward %q, %q, %q
    blocks(%c, %i : tensor<2x1x3xi32>, tensor<2x4x3x5xi32>, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x300x32xf16>
func.func @different_rows(%q: !t, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>, %d: tensor<1x1x4xi32>, %j: tensor<1x1x4x5xi32>) -> !t {
  // expected-error @+1 {{block lists must have the same number of query blocks, found 'tensor<2x4x3xi32>' and 'tensor<1x1x4xi32>'}}
  %o = attn.forward %q, %q, %q
    blocks(%c, %i, %d, %j : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, tensor<1x1x4xi32>, tensor<1x1x4x5xi32>, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x300x32xf16>
func.func @few_rows(%q: !t, %c: tensor<2x4x2xi32>, %i: tensor<2x4x2x5xi32>) -> !t {
  // expected-error @+1 {{block lists must have a row for each of 3 query blocks, found 2}}
  %o = attn.forward %q, %q, %q
    blocks(%c, %i : tensor<2x4x2xi32>, tensor<2x4x2x5xi32>, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x300x32xf16>
func.func @no_entries(%q: !t, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x0xi32>) -> !t {
  // expected-error @+1 {{'partial_index' must not be empty, found 'tensor<2x4x3x0xi32>'}}
  %o = attn.forward %q, %q, %q
    blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x0xi32>, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x4x300x32xf16>
func.func @packed(%q: !t, %cu: tensor<?xi32>, %c: tensor<1x4x3xi32>, %i: tensor<1x4x3x5xi32>) -> !t {
  // expected-error @+1 {{blocks need the sequence form 'dense', 'lengths' or 'paged', found 'packed'}}
  %o = attn.forward %q, %q, %q packed(%cu, %cu : tensor<?xi32>, tensor<?xi32>)
    blocks(%c, %i : tensor<1x4x3xi32>, tensor<1x4x3x5xi32>, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x4x300x32xf16>
func.func @bounds(%q: !t, %c: tensor<1x4x3xi32>, %i: tensor<1x4x3x5xi32>) -> !t {
  // expected-error @+1 {{expected blocks or kv_bounds and kv_classify, found both}}
  %o = attn.forward %q, %q, %q
    blocks(%c, %i : tensor<1x4x3xi32>, tensor<1x4x3x5xi32>, size = [128, 128])
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      attn.yield %i0, %i0, %i1, %i1 : index, index, index, index
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x4x300x32xf16>
func.func @twice(%q: !t, %c: tensor<1x4x3xi32>, %i: tensor<1x4x3x5xi32>) -> !t {
  %o = attn.forward %q, %q, %q
    blocks(%c, %i : tensor<1x4x3xi32>, tensor<1x4x3x5xi32>, size = [128, 128])
    // expected-error @+1 {{'blocks' is specified twice}}
    blocks(%c, %i : tensor<1x4x3xi32>, tensor<1x4x3x5xi32>, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}
