// Sums of contributions: zero sums are erased, and factors that are the same for all
// queries come last.
// RUN: fovea-opt %s --split-input-file --attn-differentiate | FileCheck %s

!x = tensor<1x2x8x16xf32>
!r = tensor<1x2x8xf32>
!c = tensor<1x2x8xf32>

// A value per query is added to all scores of a row, which does not change the probabilities.
// The contribution of the same tensor per key stays.
// CHECK-LABEL: func @gates
// CHECK: score_gradient
// CHECK-NOT: attn.contribute
// CHECK: %[[NEGATIVE:.*]] = arith.negf %ds : f32
// CHECK-NEXT: attn.contribute %[[NEGATIVE]] to %{{.*}}[%b, %h, %j]
// CHECK-NEXT: attn.yield %ds : f32
func.func @gates(%q: !x, %o: !x, %lse: !r, %c: !c) -> (!x, !c) {
  %0:2 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q, captures = [0]) captures(%c : !c)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %cc: !c) {
      %ci = tensor.extract %cc[%b, %h, %i] : !c
      %cj = tensor.extract %cc[%b, %h, %j] : !c
      %0 = arith.addf %s, %ci : f32
      %1 = arith.subf %0, %cj : f32
      attn.yield %1 : f32
    } : !x, !x, !x, !x, !r, !x -> !x, !c
  return %0#0, %0#1 : !x, !c
}

// -----

!x = tensor<1x2x8x16xf32>
!r = tensor<1x2x8xf32>
!c = tensor<1x2x8xf32>
!h = tensor<2xf32>

// Its multiples by a factor that is uniform across the row are erased, too.
// CHECK-LABEL: func @multiples
// CHECK: score_gradient
// CHECK-NOT: attn.contribute
// CHECK: attn.yield %ds : f32
func.func @multiples(%q: !x, %o: !x, %lse: !r, %c: !c, %w: !h) -> (!x, !c, !h) {
  %0:3 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q, captures = [0, 1]) captures(%c, %w : !c, !h)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %cc: !c, %ww: !h) {
      %half = arith.constant 0.5 : f32
      %ci = tensor.extract %cc[%b, %h, %i] : !c
      %wh = tensor.extract %ww[%h] : !h
      %0 = arith.mulf %ci, %wh : f32
      %1 = math.tanh %0 : f32
      %2 = arith.divf %1, %half : f32
      %3 = arith.addf %s, %2 : f32
      attn.yield %3 : f32
    } : !x, !x, !x, !x, !r, !x -> !x, !c, !h
  return %0#0, %0#1, %0#2 : !x, !c, !h
}

// -----

!x = tensor<1x2x8x16xf32>
!r = tensor<1x2x8xf32>
!c = tensor<1x2x8xf32>
!n = tensor<2xf32>

// With a sink, or a gradient with respect to the log-sum-exp, the sum of a row is not zero.
// CHECK-LABEL: func @sinks
// CHECK: attn.contribute %ds to %{{.*}}[%b, %h, %i]
// CHECK-LABEL: func @by_lse
// CHECK: attn.contribute %ds to %{{.*}}[%b, %h, %i]
func.func @sinks(%q: !x, %o: !x, %lse: !r, %c: !c, %n: !n) -> (!x, !c) {
  %0:2 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q, captures = [0]) captures(%c : !c) sinks(%n : !n)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %cc: !c) {
      %ci = tensor.extract %cc[%b, %h, %i] : !c
      %0 = arith.addf %s, %ci : f32
      attn.yield %0 : f32
    } : !x, !x, !x, !x, !r, !x -> !x, !c
  return %0#0, %0#1 : !x, !c
}
func.func @by_lse(%q: !x, %o: !x, %lse: !r, %c: !c) -> (!x, !c) {
  %0:2 = attn.backward %q, %q, %q, %o, %lse, %o lse_gradient(%lse : !r) gradients(q, captures = [0]) captures(%c : !c)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %cc: !c) {
      %ci = tensor.extract %cc[%b, %h, %i] : !c
      %0 = arith.addf %s, %ci : f32
      attn.yield %0 : f32
    } : !x, !x, !x, !x, !r, !x -> !x, !c
  return %0#0, %0#1 : !x, !c
}

// -----

!x = tensor<1x2x8x16xf32>
!r = tensor<1x2x8xf32>
!c = tensor<1x2x8xf32>
!h = tensor<2xf32>

// A factor of the score per query has no zero sum. A gain and a gate per key share the product
// of the derivative and the score. The factors per key come last, in the order of the rules,
// with the guard that preserves 0.
// CHECK-LABEL: func @factors
// CHECK: score_gradient
// CHECK: %[[PAIR:.*]] = arith.mulf %ds, %s : f32
// CHECK: %[[ROW:.*]] = arith.mulf %[[PAIR]], %[[T:.*]] : f32
// CHECK: %[[GAINED:.*]] = arith.mulf %[[ROW]], %[[GAIN:.*]] : f32
// CHECK: %[[IS_ZERO:.*]] = arith.cmpf oeq, %[[GAINED]], %[[ZERO:.*]] : f32
// CHECK: %[[TIMES:.*]] = arith.mulf %[[GAINED]], %[[GATE:.*]] : f32
// CHECK: %[[CHOSEN:.*]] = arith.select %[[IS_ZERO]], %[[ZERO]], %[[TIMES]] : f32
// CHECK: attn.contribute %[[CHOSEN]] to %{{.*}}[%b, %h, %j]
// CHECK: %[[OF_GAIN:.*]] = arith.mulf %[[ROW]], %[[GATE]] : f32
// CHECK: attn.contribute %[[OF_GAIN]] to %{{.*}}[%h]
func.func @factors(%q: !x, %o: !x, %lse: !r, %g: !h, %k: !c, %t: !c) -> (!x, !h, !c) {
  %0:3 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q, captures = [0, 1]) captures(%g, %k, %t : !h, !c, !c)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %gg: !h, %kk: !c, %tt: !c) {
      %gh = tensor.extract %gg[%h] : !h
      %kj = tensor.extract %kk[%b, %h, %j] : !c
      %ti = tensor.extract %tt[%b, %h, %i] : !c
      %gate = math.exp %kj : f32
      %0 = arith.mulf %s, %gh : f32
      %1 = arith.mulf %0, %gate : f32
      %2 = arith.mulf %1, %ti : f32
      attn.yield %2 : f32
    } : !x, !x, !x, !x, !r, !x -> !x, !h, !c
  return %0#0, %0#1, %0#2 : !x, !h, !c
}

// -----

!x = tensor<1x2x8x16xf32>
!r = tensor<1x2x8xf32>
!h = tensor<2xf32>

// The derivative of a square is twice a product; the quotient applies to the sum.
// CHECK-LABEL: func @width
// CHECK: score_gradient
// CHECK: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: %[[DISTANCE:.*]] = arith.sitofp
// CHECK: %[[ONCE:.*]] = arith.mulf %ds, %[[DISTANCE]] : f32
// CHECK-NEXT: %[[PAIR:.*]] = arith.mulf %[[ONCE]], %[[DISTANCE]] : f32
// CHECK-NOT: %[[DISTANCE]]
// CHECK: attn.contribute
func.func @width(%q: !x, %o: !x, %lse: !r, %w: !h) -> (!x, !h) {
  %0:2 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q, captures = [0]) captures(%w : !h)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %ww: !h) {
      %wh = tensor.extract %ww[%h] : !h
      %d = arith.subi %i, %j : index
      %n = arith.index_cast %d : index to i32
      %f = arith.sitofp %n : i32 to f32
      %u = arith.divf %f, %wh : f32
      %2 = arith.mulf %u, %u : f32
      %3 = arith.subf %s, %2 : f32
      attn.yield %3 : f32
    } : !x, !x, !x, !x, !r, !x -> !x, !h
  return %0#0, %0#1 : !x, !h
}

// -----

!x = tensor<1x2x8x16xf32>
!r = tensor<1x2x8xf32>
!c = tensor<8xf32>

// A choice guards against a division of 0 by 0: it stays outside of the division.
// CHECK-LABEL: func @distance
// CHECK: score_gradient
// CHECK: arith.mulf %ds, %[[APART:.*]] : f32
// CHECK: %[[QUOTIENT:.*]] = arith.divf
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[QUOTIENT]] : f32
// CHECK: attn.contribute
// CHECK-SAME: [%j]
func.func @distance(%q: !x, %o: !x, %lse: !r, %c: !c) -> (!x, !c) {
  %0:2 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q, captures = [0]) captures(%c : !c)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %cc: !c) {
      %ci = tensor.extract %cc[%i] : !c
      %cj = tensor.extract %cc[%j] : !c
      %apart = arith.subf %ci, %cj : f32
      %square = arith.mulf %apart, %apart : f32
      %zero = arith.constant 0.0 : f32
      %same = arith.cmpf oeq, %square, %zero : f32
      %root = math.sqrt %square : f32
      %distance = arith.select %same, %zero, %root : f32
      %0 = arith.subf %s, %distance : f32
      attn.yield %0 : f32
    } : !x, !x, !x, !x, !r, !x -> !x, !c
  return %0#0, %0#1 : !x, !c
}
