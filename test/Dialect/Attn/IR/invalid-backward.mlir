// RUN: fovea-opt %s --split-input-file --verify-diagnostics

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @lse_shape(%q: !t, %lse: tensor<2x4x9xf32>) -> (!t, !t, !t) {
  // expected-error @+1 {{lse must be an f32 tensor of the query's batch, heads and sequence, found 'tensor<2x4x9xf32>'}}
  %0:3 = attn.backward %q, %q, %q, %q, %lse, %q : !t, !t, !t, !t, tensor<2x4x9xf32>, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @output_shape(%q: !t, %o: tensor<2x4x8x32xbf16>, %lse: !lse) -> !t {
  // expected-error @+1 {{output must have the query's batch, heads and sequence and the value's head dim, found 'tensor<2x4x8x32xbf16>' for 'tensor<2x4x8x16xbf16>' and 'tensor<2x4x8x16xbf16>'}}
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q) : !t, !t, !t, tensor<2x4x8x32xbf16>, !lse, tensor<2x4x8x32xbf16> -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @do_type(%q: !t, %do: tensor<2x4x8x16xf32>, %lse: !lse) -> !t {
  // expected-error @+1 {{the output's gradient must have the output's type 'tensor<2x4x8x16xbf16>', or that of 'bf16', found 'tensor<2x4x8x16xf32>'}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %do gradients(q) : !t, !t, !t, !t, !lse, tensor<2x4x8x16xf32> -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x8x16xbf16>
!o = tensor<2x4x8x16xf32>
!lse = tensor<2x4x8xf32>
func.func @do_type_of_f32(%q: !t, %o: !o, %do: tensor<2x4x8x16xf16>, %lse: !lse) -> !t {
  // expected-error @+1 {{the output's gradient must have the output's type 'tensor<2x4x8x16xf32>', or that of 'bf16', found 'tensor<2x4x8x16xf16>'}}
  %0 = attn.backward %q, %q, %q, %o, %lse, %do gradients(q) : !t, !t, !t, !o, !lse, tensor<2x4x8x16xf16> -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @gradient_type(%q: !t, %lse: !lse) -> tensor<2x4x8x16xf16> {
  // expected-error @+1 {{the gradient of q must be 'tensor<2x4x8x16xbf16>', or that of f32, found 'tensor<2x4x8x16xf16>'}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(q) : !t, !t, !t, !t, !lse, !t -> tensor<2x4x8x16xf16>
  return %0 : tensor<2x4x8x16xf16>
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @none(%q: !t, %lse: !lse) {
  // expected-error @+1 {{expected gradients among 'q', 'k', 'v', 'captures', 'sinks', 'scale', in this order, found 'w'}}
  attn.backward %q, %q, %q, %q, %lse, %q gradients(w) : !t, !t, !t, !t, !lse, !t -> !t
  return
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @order(%q: !t, %lse: !lse) {
  // expected-error @+1 {{in this order, found 'q'}}
  attn.backward %q, %q, %q, %q, %lse, %q gradients(k, q) : !t, !t, !t, !t, !lse, !t -> !t, !t
  return
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @count(%q: !t, %lse: !lse) {
  // expected-error @+2 {{expected the types of 3 gradients, found 1}}
  attn.backward %q, %q, %q, %q, %lse, %q
      : !t, !t, !t, !t, !lse, !t -> !t
  return
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @nothing(%q: !t, %lse: !lse) {
  // expected-error @+1 {{expected at least one gradient}}
  "attn.backward"(%q, %q, %q, %q, %lse, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0>, sequence = #attn.dense}> ({}, {}, {}, {}, {}, {}) : (!t, !t, !t, !t, !lse, !t) -> ()
  return
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @integers(%q: !t, %lse: !lse, %c: tensor<8xi32>) {
  // expected-error @+1 {{captured value #0 has no gradient: expected a float or a tensor of floats, found 'tensor<8xi32>'}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(captures = [0]) captures(%c : tensor<8xi32>) : !t, !t, !t, !t, !lse, !t -> tensor<8xi32>
  return
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @positions(%q: !t, %lse: !lse, %c: tensor<8xf32>) {
  // expected-error @+1 {{captured values with gradients must ascend, below 1, found [1]}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(captures = [1]) captures(%c : tensor<8xf32>) : !t, !t, !t, !t, !lse, !t -> tensor<8xf32>
  return
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @no_sinks(%q: !t, %lse: !lse) {
  // expected-error @+1 {{the gradient of sinks needs sinks, found none}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(sinks) : !t, !t, !t, !t, !lse, !t -> tensor<4xf32>
  return
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @constant_scale(%q: !t, %lse: !lse) {
  // expected-error @+1 {{the gradient of the scale needs a run-time scale, found none}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(scale) scale(0.5) : !t, !t, !t, !t, !lse, !t -> tensor<f32>
  return
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @gradient_alone(%q: !t, %lse: !lse) {
  // expected-error @+1 {{'score_gradient' needs a score_mod}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(q)
    score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index) {
      attn.yield %ds : f32
    } : !t, !t, !t, !t, !lse, !t -> !t
  return
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @not_asked_for(%q: !t, %lse: !lse, %w: f32) {
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(q) captures(%w : f32)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      %r = arith.addf %s, %c : f32
      attn.yield %r : f32
    }
    score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      // expected-error @+1 {{expected a captured value with a gradient, found captured value #0}}
      attn.contribute %ds to %c : f32
      attn.yield %ds : f32
    } : !t, !t, !t, !t, !lse, !t -> !t
  return
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @elsewhere(%q: !t, %lse: !lse, %w: f32) {
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(captures = [0]) captures(%w : f32)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      // expected-error @+1 {{is only valid in 'score_gradient'}}
      attn.contribute %s to %c : f32
      attn.yield %s : f32
    } : !t, !t, !t, !t, !lse, !t -> tensor<f32>
  return
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @indices(%q: !t, %lse: !lse, %w: tensor<4x8xf32>) {
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(captures = [0]) captures(%w : tensor<4x8xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: tensor<4x8xf32>) {
      attn.yield %s : f32
    }
    score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index, %c: tensor<4x8xf32>) {
      // expected-error @+1 {{expected 2 indices for 'tensor<4x8xf32>', found 1}}
      attn.contribute %ds to %c[%h] : tensor<4x8xf32>
      attn.yield %ds : f32
    } : !t, !t, !t, !t, !lse, !t -> tensor<4x8xf32>
  return
}

// -----

!t = tensor<2x4x8x16xbf16>
!pool = tensor<9x4x32x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @paged(%q: !t, %k: !pool, %lse: !lse, %table: tensor<2x3xi32>, %n: tensor<2xi32>) -> !t {
  // expected-error @+1 {{the sequence form 'paged' has no gradients: batch entries may share a page}}
  %0 = attn.backward %q, %k, %k, %q, %lse, %q gradients(q) paged(%table, %n : tensor<2x3xi32>, tensor<2xi32>, page = 32) : !t, !pool, !pool, !t, !lse, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @two_lse_gradients(%q: !t, %lse: !lse) -> !t {
  // expected-error @+1 {{expected one gradient of lse, found 2}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q lse_gradient(%lse, %lse : !lse, !lse) gradients(q) : !t, !t, !t, !t, !lse, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @few_types(%q: !t, %lse: !lse) -> !t {
  // expected-error @+1 {{expected the types of q, k, v, o, lse and do, found 4 types}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(q) : !t, !t, !t, !lse -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @no_gradient_of_capture(%q: !t, %lse: !lse, %c: f32) -> !t {
  // expected-error @+1 {{expected a gradient for each of 1 captured values, found 0}}
  %0 = "attn.backward"(%q, %q, %q, %q, %lse, %q, %c) <{
      differentiated = array<i64: 0>, layout = #attn.layout<bhsd>, sequence = #attn.dense,
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0>}>
    ({}, {}, {}, {}, {}, {}) : (!t, !t, !t, !t, !lse, !t, f32) -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x8x16xbf16>
!lse = tensor<2x4x8xf32>
func.func @contribution_to_score(%q: !t, %lse: !lse, %w: f32) -> f32 {
  %0:2 = attn.backward %q, %q, %q, %q, %lse, %q gradients(q, captures = [0]) captures(%w : f32)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      attn.yield %s : f32
    }
    score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      // expected-error @+1 {{expected the region's argument of a captured value, found another value}}
      attn.contribute %ds to %s : f32
      attn.yield %ds : f32
    } : !t, !t, !t, !t, !lse, !t -> !t, tensor<f32>
  func.return %w : f32
}

// -----

!t = tensor<2x4x8x16xbf16>
!o = tensor<2x4x8x16xf16>
!lse = tensor<2x4x8xf32>
func.func @output_element(%q: !t, %o: !o, %lse: !lse) -> !t {
  // expected-error @+1 {{output must be 'bf16' or f32, found 'f16'}}
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q) : !t, !t, !t, !o, !lse, !o -> !t
  return %0 : !t
}

// -----

!q = tensor<1x4x?x16xbf16>
!k = tensor<?x4x?x16xbf16>
!lse = tensor<1x4x?xf32>
func.func @packed_queries(%q: !q, %k: !k, %lse: !lse, %cu: tensor<?xi32>, %n: tensor<?xi32>) -> !q {
  // expected-error @+1 {{packed queries have gradients only with packed keys, as 'packed(%cu_q, %cu_k)'}}
  %0 = attn.backward %q, %k, %k, %q, %lse, %q gradients(q) packed(%cu : tensor<?xi32>) lengths(%n : tensor<?xi32>) : !q, !k, !k, !q, !lse, !q -> !q
  return %0 : !q
}
