// RUN: fovea-opt %s -split-input-file -verify-diagnostics

func.func @nan_scale(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{scale must be finite, found nan}}
  %o = attn.forward %q, %k, %v scale(0x7FF8000000000000)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @infinite_scale(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{scale must be finite, found INF}}
  %o = attn.forward %q, %k, %v scale(0x7FF0000000000000)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @large_scale(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{scale must be finite as an f32, found 1.000000e+39}}
  %o = attn.forward %q, %k, %v scale(1.0e39)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @two_scales(%q: tensor<2x4x?x64xbf16>, %s: f32) {
  // expected-error @+1 {{expected one scale, found a constant and an operand}}
  %o = "attn.forward"(%q, %q, %q, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0>, scale = 1.0 : f64, sequence = #attn.dense}> ({}, {}, {}, {})
    : (tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, f32) -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @capture_rank(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>, %c: tensor<1x1x1x1x1xf32>) {
  // expected-error @+1 {{captured value #0 must be an index, f32, i32 or i64, or a tensor of rank at most 4}}
  %o = attn.forward %q, %k, %v captures(%c : tensor<1x1x1x1x1xf32>)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @capture_element(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>, %w: index, %c: tensor<?xf64>) {
  // expected-error @+1 {{captured value #1 must be}}
  %o = attn.forward %q, %k, %v captures(%w, %c : index, tensor<?xf64>)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @capture_memref(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>, %c: memref<?xf32>) {
  // expected-error @+1 {{captured value #0 must be}}
  %o = attn.forward %q, %k, %v captures(%c : memref<?xf32>)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @lengths_type(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>, %n: tensor<2xi64>) {
  // expected-error @+1 {{'lengths' must be an i32 tensor of rank 1, found 'tensor<2xi64>'}}
  %o = attn.forward %q, %k, %v lengths(%n : tensor<2xi64>)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @lengths_size(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>, %n: tensor<3xi32>) {
  // expected-error @+1 {{'lengths' must have 2 entries, one per batch entry, found 3}}
  %o = attn.forward %q, %k, %v lengths(%n : tensor<3xi32>)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @lengths_count(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>, %n: tensor<2xi32>) {
  // expected-error @+1 {{sequence form 'lengths' takes 1 operands, found 2}}
  %o = attn.forward %q, %k, %v lengths(%n, %n : tensor<2xi32>, tensor<2xi32>)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @packed_batch(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>, %n: tensor<?xi32>) {
  // expected-error @+1 {{packed sequences need a batch dimension of 1, found 2}}
  %o = attn.forward %q, %k, %v packed(%n, %n : tensor<?xi32>, tensor<?xi32>)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @packed_types(%q: tensor<1x4x?x64xbf16>, %k: tensor<1x4x?x64xbf16>, %v: tensor<1x4x?x64xbf16>, %m: tensor<4xi32>, %n: tensor<5xi32>) {
  // expected-error @+1 {{'cu_q' and 'cu_k' must have the same type}}
  %o = attn.forward %q, %k, %v packed(%m, %n : tensor<4xi32>, tensor<5xi32>)
    : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @paged_page(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>, %p: tensor<2x?xi32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{page must be positive, found 0}}
  %o = attn.forward %q, %k, %v paged(%p, %n : tensor<2x?xi32>, tensor<2xi32>, page = 0)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @paged_table(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>, %p: tensor<2xi32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{'page_table' must be an i32 tensor of rank 2}}
  %o = attn.forward %q, %k, %v paged(%p, %n : tensor<2xi32>, tensor<2xi32>, page = 64)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @paged_rows(%q: tensor<2x4x?x64xbf16>, %k: tensor<?x4x128x64xbf16>, %p: tensor<2x?xi32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{pages of key and value must have 64 rows as in 'page', found 'tensor<?x4x128x64xbf16>'}}
  %o = attn.forward %q, %k, %k paged(%p, %n : tensor<2x?xi32>, tensor<2xi32>, page = 64)
    : tensor<2x4x?x64xbf16>, tensor<?x4x128x64xbf16>, tensor<?x4x128x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @paged_table_type(%q: tensor<2x4x?x64xbf16>, %k: tensor<?x4x64x64xbf16>, %p: tensor<2x?xi64>, %n: tensor<2xi32>) {
  // expected-error @+1 {{'page_table' must be an i32 tensor of rank 2, found 'tensor<2x?xi64>'}}
  %o = attn.forward %q, %k, %k paged(%p, %n : tensor<2x?xi64>, tensor<2xi32>, page = 64)
    : tensor<2x4x?x64xbf16>, tensor<?x4x64x64xbf16>, tensor<?x4x64x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @packed_empty(%q: tensor<1x4x?x64xbf16>, %n: tensor<0xi32>) {
  // expected-error @+1 {{'cu_q' must have one entry more than the number of sequences, found 'tensor<0xi32>'}}
  %o = attn.forward %q, %q, %q packed(%n, %n : tensor<0xi32>, tensor<0xi32>)
    : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @sinks_count(%q: tensor<1x4x?x64xbf16>, %s: tensor<5xf32>) {
  // expected-error @+1 {{sinks must be an f32 tensor of the query's heads, found 'tensor<5xf32>'}}
  %o = attn.forward %q, %q, %q sinks(%s : tensor<5xf32>)
    : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @sinks_type(%q: tensor<1x4x?x64xbf16>, %s: tensor<4xbf16>) {
  // expected-error @+1 {{sinks must be an f32 tensor of the query's heads, found 'tensor<4xbf16>'}}
  %o = attn.forward %q, %q, %q sinks(%s : tensor<4xbf16>)
    : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @dropout_all(%q: tensor<1x4x?x64xbf16>, %s: i64) {
  // expected-error @+1 {{dropout must be at least 0 and at most 65535/65536, found 1}}
  %o = attn.forward %q, %q, %q dropout(1.0, %s, %s)
    : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @dropout_negative(%q: tensor<1x4x?x64xbf16>, %s: i64) {
  // expected-error @+1 {{dropout must be at least 0 and at most 65535/65536, found -5}}
  %o = attn.forward %q, %q, %q dropout(-0.5, %s, %s)
    : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @dropout_generator(%q: tensor<1x4x?x64xbf16>, %s: i64) {
  // expected-error @+1 {{dropout's generator 2 is not known, expected 1}}
  %o = attn.forward %q, %q, %q dropout(0.5, %s, %s, generator = 2)
    : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @dropout_unseeded(%q: tensor<1x4x8x64xbf16>) {
  // expected-error @+1 {{dropout takes a probability, a seed and an offset}}
  %o = "attn.forward"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>, dropout = 0.5 : f64, sequence = #attn.dense}> ({}, {}, {}, {})
    : (tensor<1x4x8x64xbf16>, tensor<1x4x8x64xbf16>, tensor<1x4x8x64xbf16>) -> tensor<1x4x8x64xbf16>
  return
}

// -----

func.func @packed_queries_batch(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %c: tensor<3xi32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{packed sequences need a batch dimension of 1, found 2}}
  %o = attn.forward %q, %k, %k packed(%c : tensor<3xi32>) lengths(%n : tensor<2xi32>)
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @packed_queries_lengths(%q: tensor<1x4x?x64xbf16>, %k: tensor<?x4x?x64xbf16>, %c: tensor<3xi32>, %n: tensor<3xi32>) {
  // expected-error @+1 {{'lengths' must have 2 entries, one per batch entry, found 3}}
  %o = attn.forward %q, %k, %k packed(%c : tensor<3xi32>) lengths(%n : tensor<3xi32>)
    : tensor<1x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @packed_queries_keys(%q: tensor<1x4x?x64xbf16>, %k: tensor<3x4x?x64xbf16>, %c: tensor<3xi32>) {
  // expected-error @+1 {{'cu_q' must have one entry more than the batch entries of key and value, found 3 and 3}}
  %o = attn.forward %q, %k, %k packed(%c : tensor<3xi32>)
    : tensor<1x4x?x64xbf16>, tensor<3x4x?x64xbf16>, tensor<3x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @packed_queries_type(%q: tensor<1x4x?x64xbf16>, %k: tensor<?x4x?x64xbf16>, %c: tensor<?xi64>) {
  // expected-error @+1 {{'cu_q' must be an i32 tensor of rank 1, found 'tensor<?xi64>'}}
  %o = attn.forward %q, %k, %k packed(%c : tensor<?xi64>)
    : tensor<1x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @packed_queries_most(%q: tensor<1x4x?x64xbf16>, %k: tensor<?x4x?x64xbf16>, %c: tensor<?xi32>) {
  // expected-error @+1 {{most must be from 0 to 1073741824, found -1}}
  %o = attn.forward %q, %k, %k packed(%c : tensor<?xi32>, most = -1)
    : tensor<1x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @packed_queries_twice(%q: tensor<1x4x?x64xbf16>, %c: tensor<?xi32>) {
  // expected-error @+1 {{expected 'dense', 'lengths' or 'paged' keys with packed queries, found 'packed'}}
  %o = "attn.forward"(%q, %q, %q, %c, %c, %c) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 3, 0, 0, 0, 0>, sequence = #attn.packed_queries<#attn.packed>}> ({}, {}, {}, {})
    : (tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @packed_queries_blocks(%q: tensor<1x4x?x64xbf16>, %k: tensor<?x4x?x64xbf16>, %c: tensor<?xi32>, %pc: tensor<1x1x?xi32>, %pi: tensor<1x1x?x?xi32>) {
  // expected-error @+1 {{blocks need the sequence form 'dense', 'lengths' or 'paged', found 'packed'}}
  %o = attn.forward %q, %k, %k packed(%c : tensor<?xi32>) blocks(%pc, %pi : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, size = [128, 128])
    : tensor<1x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @packed_queries_most_of_all(%q: tensor<1x4x?x64xbf16>, %k: tensor<?x4x?x64xbf16>, %c: tensor<?xi32>) {
  // expected-error @+1 {{most must be from 0 to 1073741824, found 9223372036854775807}}
  %o = attn.forward %q, %k, %k packed(%c : tensor<?xi32>, most = 9223372036854775807)
    : tensor<1x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16> -> tensor<1x4x?x64xbf16>
  return
}

// -----

func.func @listed_indices(%q: tensor<2x4x?x64xbf16>, %k: tensor<?x4x64x64xbf16>, %p: tensor<2x?xi32>, %s: tensor<?xi32>, %n: tensor<?xi32>) {
  // expected-error @+1 {{'page_indices' must be an i32 tensor of rank 1, found 'tensor<2x?xi32>'}}
  %o = attn.forward %q, %k, %k paged(%p, %s, %n : tensor<2x?xi32>, tensor<?xi32>, tensor<?xi32>, page = 64)
    : tensor<2x4x?x64xbf16>, tensor<?x4x64x64xbf16>, tensor<?x4x64x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @listed_offsets(%q: tensor<2x4x?x64xbf16>, %k: tensor<?x4x64x64xbf16>, %p: tensor<?xi32>, %s: tensor<?xi64>, %n: tensor<?xi32>) {
  // expected-error @+1 {{'page_indptr' must be an i32 tensor of rank 1, found 'tensor<?xi64>'}}
  %o = attn.forward %q, %k, %k paged(%p, %s, %n : tensor<?xi32>, tensor<?xi64>, tensor<?xi32>, page = 64)
    : tensor<2x4x?x64xbf16>, tensor<?x4x64x64xbf16>, tensor<?x4x64x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @listed_none(%q: tensor<2x4x?x64xbf16>, %k: tensor<?x4x64x64xbf16>, %p: tensor<?xi32>, %s: tensor<0xi32>, %n: tensor<?xi32>) {
  // expected-error @+1 {{'page_indptr' must have one entry more than the number of sequences, found 'tensor<0xi32>'}}
  %o = attn.forward %q, %k, %k paged(%p, %s, %n : tensor<?xi32>, tensor<0xi32>, tensor<?xi32>, page = 64)
    : tensor<2x4x?x64xbf16>, tensor<?x4x64x64xbf16>, tensor<?x4x64x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @listed_count(%q: tensor<2x4x?x64xbf16>, %k: tensor<?x4x64x64xbf16>, %p: tensor<?xi32>, %s: tensor<2xi32>, %n: tensor<?xi32>) {
  // expected-error @+1 {{'page_indptr' must have 3 entries, one more than batch entries, found 2}}
  %o = attn.forward %q, %k, %k paged(%p, %s, %n : tensor<?xi32>, tensor<2xi32>, tensor<?xi32>, page = 64)
    : tensor<2x4x?x64xbf16>, tensor<?x4x64x64xbf16>, tensor<?x4x64x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @listed_lengths(%q: tensor<2x4x?x64xbf16>, %k: tensor<?x4x64x64xbf16>, %p: tensor<?xi32>, %s: tensor<?xi32>, %n: tensor<3xi32>) {
  // expected-error @+1 {{'lengths' must have 2 entries, one per batch entry, found 3}}
  %o = attn.forward %q, %k, %k paged(%p, %s, %n : tensor<?xi32>, tensor<?xi32>, tensor<3xi32>, page = 64)
    : tensor<2x4x?x64xbf16>, tensor<?x4x64x64xbf16>, tensor<?x4x64x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}
