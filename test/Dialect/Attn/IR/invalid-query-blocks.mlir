// RUN: fovea-opt %s -split-input-file -verify-diagnostics

!t = tensor<2x4x300x32xf16>
!rows = tensor<2x4x300xf32>
func.func @other_count(%q: !t, %lse: !rows, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>, %f: tensor<2x4x3xi32>, %j: tensor<2x4x3x5xi32>) -> !t {
  // expected-error @+1 {{query_blocks must have as many tensors as blocks, expected 4, found 2}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(k)
    blocks(%c, %i, %f, %j : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, size = [128, 128])
    query_blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x300x32xf16>
!rows = tensor<2x4x300xf32>
func.func @no_blocks(%q: !t, %lse: !rows, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>) -> !t {
  // expected-error @+1 {{query_blocks must have as many tensors as blocks, expected 0, found 2}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(k)
    query_blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x300x32xf16>
!rows = tensor<2x4x300xf32>
func.func @element(%q: !t, %lse: !rows, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>, %n: tensor<2x4x3xi64>) -> !t {
  // expected-error @+1 {{'partial_query_count' must be an i32 tensor of rank 3, found 'tensor<2x4x3xi64>'}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(k)
    blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, size = [128, 128])
    query_blocks(%n, %i : tensor<2x4x3xi64>, tensor<2x4x3x5xi32>) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x300x32xf16>
!rows = tensor<2x4x300xf32>
func.func @rank(%q: !t, %lse: !rows, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>) -> !t {
  // expected-error @+1 {{'partial_query_index' must be an i32 tensor of rank 4, found 'tensor<2x4x3xi32>'}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(k)
    blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, size = [128, 128])
    query_blocks(%c, %c : tensor<2x4x3xi32>, tensor<2x4x3xi32>) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x300x32xf16>
!rows = tensor<2x4x300xf32>
func.func @heads(%q: !t, %lse: !rows, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>, %n: tensor<2x2x3xi32>, %m: tensor<2x2x3x5xi32>) -> !t {
  // expected-error @+1 {{dimension 1 of 'partial_query_count' must be 1 or the number of query heads 4, found 'tensor<2x2x3xi32>'}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(k)
    blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, size = [128, 128])
    query_blocks(%n, %m : tensor<2x2x3xi32>, tensor<2x2x3x5xi32>) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x300x32xf16>
!rows = tensor<2x4x300xf32>
func.func @pair(%q: !t, %lse: !rows, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>, %n: tensor<2x4x4xi32>) -> !t {
  // expected-error @+1 {{'partial_query_count' and 'partial_query_index' must agree in their first three dimensions, found 'tensor<2x4x4xi32>' and 'tensor<2x4x3x5xi32>'}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(k)
    blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, size = [128, 128])
    query_blocks(%n, %i : tensor<2x4x4xi32>, tensor<2x4x3x5xi32>) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x300x32xf16>
!rows = tensor<2x4x300xf32>
func.func @rows(%q: !t, %lse: !rows, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>) -> !t {
  // expected-error @+1 {{transposed block lists must have a row for each of 5 key blocks, found 3}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(k)
    blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, size = [128, 64])
    query_blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x300x32xf16>
!rows = tensor<2x4x300xf32>
func.func @same_rows(%q: !t, %lse: !rows, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>, %n: tensor<1x1x4xi32>, %m: tensor<1x1x4x5xi32>) -> !t {
  // expected-error @+1 {{transposed block lists must have the same number of key blocks, found 'tensor<2x4x3xi32>' and 'tensor<1x1x4xi32>'}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(k)
    blocks(%c, %i, %c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, size = [128, 128])
    query_blocks(%c, %i, %n, %m : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, tensor<1x1x4xi32>, tensor<1x1x4x5xi32>) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x300x32xf16>
!rows = tensor<2x4x300xf32>
func.func @empty(%q: !t, %lse: !rows, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>, %m: tensor<2x4x3x0xi32>) -> !t {
  // expected-error @+1 {{'partial_query_index' must not be empty, found 'tensor<2x4x3x0xi32>'}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(k)
    blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>, size = [128, 128])
    query_blocks(%c, %m : tensor<2x4x3xi32>, tensor<2x4x3x0xi32>) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x300x32xf16>
func.func @forward(%q: !t, %c: tensor<2x4x3xi32>, %i: tensor<2x4x3x5xi32>) -> !t {
  // expected-error @+1 {{expected ':'}}
  %o = attn.forward %q, %q, %q query_blocks(%c, %i : tensor<2x4x3xi32>, tensor<2x4x3x5xi32>) : !t, !t, !t -> !t
  return %o : !t
}
