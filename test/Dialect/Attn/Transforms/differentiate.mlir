// RUN: fovea-opt %s --attn-differentiate | FileCheck %s
// A second run changes nothing: all derivatives exist.
// RUN: fovea-opt %s --attn-differentiate > %t.once
// RUN: fovea-opt %t.once --attn-differentiate | diff %t.once -

!t = tensor<1x2x8x4xf32>
!rows = tensor<1x2x8xf32>

// A value that is used twice; one of its two terms is not recomputed.
// CHECK-LABEL: func @square
// CHECK: score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index) {
// CHECK-NEXT: %[[A:.*]] = arith.mulf %ds, %s : f32
// CHECK-NEXT: %[[B:.*]] = arith.mulf %ds, %s : f32
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT: attn.yield %[[SUM]] : f32
func.func @square(%q: !t, %o: !t, %lse: !rows) -> !t {
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %0 = arith.mulf %s, %s : f32
      attn.yield %0 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// The result of an op is recomputed only if the rule needs it. An adjoint of 0 stays 0
// if the slope overflows.
// CHECK-LABEL: func @chain
// CHECK: score_gradient
// CHECK-NEXT: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %s, %[[HALF]] : f32
// CHECK-NEXT: %[[EXP:.*]] = math.exp %[[SCALED]] : f32
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %[[IS_ZERO:.*]] = arith.cmpf oeq, %ds, %[[ZERO]] : f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %ds, %[[EXP]] : f32
// CHECK-NEXT: %[[BY_EXP:.*]] = arith.select %[[IS_ZERO]], %[[ZERO]], %[[PRODUCT]] : f32
// CHECK: %[[BY_S:.*]] = arith.mulf %[[BY_EXP]], %{{.*}} : f32
// CHECK-NEXT: attn.yield %[[BY_S]] : f32
func.func @chain(%q: !t, %o: !t, %lse: !rows) -> !t {
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %half = arith.constant 0.5 : f32
      %0 = arith.mulf %s, %half : f32
      %1 = math.exp %0 : f32
      %2 = arith.addf %1, %half : f32
      attn.yield %2 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// Constant factors of an adjoint are combined and come last; those of a soft cap cancel.
// CHECK-LABEL: func @soft_cap
// CHECK: score_gradient
// CHECK: %[[Y:.*]] = math.tanh
// CHECK: %[[SLOPE:.*]] = math.fma %{{.*}}, %[[Y]], %{{.*}} : f32
// CHECK-NEXT: %[[BY_S:.*]] = arith.mulf %ds, %[[SLOPE]] : f32
// CHECK: attn.yield %[[BY_S]] : f32
func.func @soft_cap(%q: !t, %o: !t, %lse: !rows) -> !t {
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 20.0 : f32
      %0 = arith.divf %s, %cap : f32
      %1 = math.tanh %0 : f32
      %2 = arith.mulf %1, %cap : f32
      attn.yield %2 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// The operands of a select get the adjoint or zero, not a product.
// CHECK-LABEL: func @choice
// CHECK: score_gradient
// CHECK: %[[KEEP:.*]] = arith.cmpi sge, %i, %j : index
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %[[BY_S:.*]] = arith.select %[[KEEP]], %ds, %[[ZERO]] : f32
// CHECK: %[[BY_W:.*]] = arith.select %[[KEEP]], %{{.*}}, %ds : f32
// CHECK-NEXT: attn.contribute %[[BY_W]] to %{{.*}} : f32
// CHECK-NEXT: attn.yield %[[BY_S]] : f32
func.func @choice(%q: !t, %o: !t, %lse: !rows, %w: f32) -> (!t, tensor<f32>) {
  %0:2 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q, captures = [0])
    captures(%w : f32)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %rw: f32) {
      %keep = arith.cmpi sge, %i, %j : index
      %0 = arith.select %keep, %s, %rw : f32
      attn.yield %0 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, tensor<f32>
  return %0#0, %0#1 : !t, tensor<f32>
}

// Both sides of a select: one of their adjoints. Equal adjoints need no select.
// CHECK-LABEL: func @sides
// CHECK: score_gradient
// CHECK: %[[KEEP:.*]] = arith.cmpi sge, %i, %j : index
// CHECK-NEXT: %[[NEGATED:.*]] = arith.negf %ds : f32
// CHECK-NEXT: %[[BY_S:.*]] = arith.select %[[KEEP]], %ds, %[[NEGATED]] : f32
// CHECK-NEXT: attn.yield %[[BY_S]] : f32
// CHECK: score_gradient
// CHECK-NEXT: attn.yield %ds : f32
func.func @sides(%q: !t, %o: !t, %lse: !rows) -> (!t, !t) {
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      %0 = arith.negf %s : f32
      %1 = arith.select %keep, %s, %0 : f32
      attn.yield %1 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t
  %1 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %bias = arith.constant 3.0 : f32
      %keep = arith.cmpi sge, %i, %j : index
      %0 = arith.addf %s, %bias : f32
      %1 = arith.select %keep, %0, %s : f32
      attn.yield %1 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0, %1 : !t, !t
}

// The select comes after the slopes of the selected values: 0 / 0 would be NaN.
// CHECK-LABEL: func @behind_slopes
// CHECK: score_gradient
// CHECK: %[[IS_POSITIVE:.*]] = arith.cmpf ogt
// CHECK: %[[SLOPE:.*]] = arith.divf %ds, %s : f32
// CHECK: %[[BY_S:.*]] = arith.select %[[IS_POSITIVE]], %[[SLOPE]], %{{.*}} : f32
// CHECK-NEXT: attn.yield %[[BY_S]] : f32
func.func @behind_slopes(%q: !t, %o: !t, %lse: !rows) -> !t {
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %zero = arith.constant 0.0 : f32
      %is_positive = arith.cmpf ogt, %s, %zero : f32
      %0 = math.log %s : f32
      %1 = arith.select %is_positive, %0, %zero : f32
      attn.yield %1 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// A tensor that is read twice gets two contributions. Integers are constants, even if
// they were converted from the score. A tensor without a requested gradient gets no
// contribution, and ops that only it passes through need no rule.
// CHECK-LABEL: func @reads
// CHECK: score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index, %[[T:.*]]: tensor<8xf32>, %[[U:.*]]: tensor<8xf32>)
// CHECK-NOT: math.ctpop
// CHECK: %[[D:.*]] = arith.subi %j, %i : index
// CHECK: %[[SLOPE:.*]] = arith.sitofp
// CHECK: %[[BY_T:.*]] = arith.mulf %ds, %[[SLOPE]] : f32
// CHECK-NEXT: attn.contribute %[[BY_T]] to %[[T]][%h] : tensor<8xf32>
// CHECK-NEXT: attn.contribute %ds to %[[T]][%[[D]]] : tensor<8xf32>
// CHECK-NEXT: attn.yield %ds : f32
// CHECK-NOT: to %[[U]]
func.func @reads(%q: !t, %o: !t, %lse: !rows, %t: tensor<8xf32>, %u: tensor<8xf32>) -> (!t, tensor<8xf32>) {
  %0:2 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q, captures = [0])
    captures(%t, %u : tensor<8xf32>, tensor<8xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %rt: tensor<8xf32>, %ru: tensor<8xf32>) {
      %d = arith.subi %j, %i : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32
      %0 = tensor.extract %rt[%d] : tensor<8xf32>
      %1 = tensor.extract %rt[%h] : tensor<8xf32>
      %2 = arith.mulf %1, %df : f32
      %bits = arith.bitcast %s : f32 to i32
      %count = math.ctpop %bits : i32
      %steps = arith.uitofp %count : i32 to f32
      %nine = tensor.extract %ru[%h] : tensor<8xf32>
      %same = arith.bitcast %nine : f32 to f32
      %3 = arith.addf %s, %0 : f32
      %4 = arith.addf %3, %2 : f32
      %5 = arith.addf %4, %steps : f32
      %6 = arith.addf %5, %same : f32
      attn.yield %6 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, tensor<8xf32>
  return %0#0, %0#1 : !t, tensor<8xf32>
}

// Adjoints have the type of their value, but contributions are f32: a rounding just for
// that type is removed.
// CHECK-LABEL: func @casts
// CHECK: score_gradient
// CHECK: %[[SQUARED:.*]] = arith.mulf
// CHECK: %[[NARROW:.*]] = arith.truncf %ds : f32 to bf16
// CHECK: %[[A:.*]] = arith.mulf %[[NARROW]], %{{.*}} : bf16
// CHECK: %[[B:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK-NEXT: attn.contribute %[[B]] to %[[T:.*]][%h] : tensor<8xbf16>
// CHECK-NEXT: attn.contribute %ds to %[[T]][%j] : tensor<8xbf16>
// CHECK-NEXT: attn.yield %ds : f32
func.func @casts(%q: !t, %o: !t, %lse: !rows, %t: tensor<8xbf16>) -> (!t, tensor<8xf32>) {
  %0:2 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q, captures = [0])
    captures(%t : tensor<8xbf16>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %rt: tensor<8xbf16>) {
      %c = arith.constant 3.0 : bf16
      %0 = tensor.extract %rt[%j] : tensor<8xbf16>
      %1 = arith.extf %0 : bf16 to f32
      %2 = tensor.extract %rt[%h] : tensor<8xbf16>
      %3 = arith.mulf %c, %c : bf16
      %4 = arith.mulf %2, %3 : bf16
      %5 = arith.extf %4 : bf16 to f32
      %6 = arith.addf %1, %5 : f32
      %7 = arith.addf %6, %s : f32
      attn.yield %7 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, tensor<8xf32>
  return %0#0, %0#1 : !t, tensor<8xf32>
}

// Step functions, and results that do not depend on the score, have no derivative.
// CHECK-LABEL: func @steps
// CHECK: score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index) {
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: attn.yield %[[ZERO]] : f32
func.func @steps(%q: !t, %o: !t, %lse: !rows) -> !t {
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %0 = math.floor %s : f32
      %1 = math.sin %0 : f32
      attn.yield %1 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// An op without a rule is allowed if no active value passes through it, or if the result
// does not depend on it.
// CHECK-LABEL: func @inactive
// CHECK: score_gradient
// CHECK-NEXT: attn.yield %ds : f32
func.func @inactive(%q: !t, %o: !t, %lse: !rows, %u: tensor<8xf32>) -> !t {
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q)
    captures(%u : tensor<8xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %ru: tensor<8xf32>) {
      %whole = tensor.cast %ru : tensor<8xf32> to tensor<?xf32>
      %0 = tensor.extract %whole[%i] : tensor<?xf32>
      %1 = arith.addf %s, %0 : f32
      %unused = arith.bitcast %s : f32 to f32
      attn.yield %1 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// CHECK-LABEL: func @already
// CHECK-COUNT-1: score_gradient
// CHECK-NEXT: arith.constant 7.000000e+00 : f32
func.func @already(%q: !t, %o: !t, %lse: !rows) -> !t {
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %0 = arith.addf %s, %s : f32
      attn.yield %0 : f32
    }
    score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index) {
      %c7 = arith.constant 7.0 : f32
      attn.yield %c7 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// Without a score_mod there is nothing to do.
// CHECK-LABEL: func @plain
// CHECK-NOT: score_gradient
func.func @plain(%q: !t, %o: !t, %lse: !rows) -> !t {
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}
