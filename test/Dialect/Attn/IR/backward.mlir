// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --mlir-print-op-generic | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

!q = tensor<4x16x?x64xbf16>
!k = tensor<4x4x?x64xbf16>
!v = tensor<4x4x?x96xbf16>
!o = tensor<4x16x?x96xbf16>
!lse = tensor<4x16x?xf32>

// Without a clause: the gradients of q, k and v.
// CHECK-LABEL: func @plain
// CHECK: %dq, %dk, %dv = attn.backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x16x?x64xbf16>, tensor<4x4x?x64xbf16>, tensor<4x4x?x96xbf16>, tensor<4x16x?x96xbf16>, tensor<4x16x?xf32>, tensor<4x16x?x96xbf16> -> tensor<4x16x?x64xf32>, tensor<4x4x?x64xbf16>, tensor<4x4x?x96xbf16>
func.func @plain(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse, %do: !o) -> (tensor<4x16x?x64xf32>, !k, !v) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do : !q, !k, !v, !o, !lse, !o -> tensor<4x16x?x64xf32>, !k, !v
  return %0#0, %0#1, %0#2 : tensor<4x16x?x64xf32>, !k, !v
}

// CHECK-LABEL: func @same
// CHECK: %dv = attn.backward {{.*}} gradients(v) deterministic :
func.func @same(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse, %do: !o) -> !v {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(v) deterministic : !q, !k, !v, !o, !lse, !o -> !v
  return %0 : !v
}

// All gradients; repeated and unused captures are removed, captures with a gradient
// stay.
// CHECK-LABEL: func @all
// CHECK: %dq, %dk, %dv, %dcapture2, %dcapture3, %dsinks, %dscale = attn.backward
// CHECK-SAME: lse_gradient(%{{.*}} : tensor<4x16x?xf32>) gradients(q, k, v, captures = [2, 3], sinks, scale) scale(%{{.*}} : f32)
// CHECK-SAME: sinks(%{{.*}} : tensor<16xf32>) dropout(1.000000e-01, %{{.*}}, %{{.*}}) captures(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<16xf16>, tensor<16xf16>, tensor<16xf16>, f32)
// CHECK-NEXT: score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index,
// CHECK: score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index,
// CHECK: attn.contribute %{{.*}} to %{{.*}}[%h] : tensor<16xf16>
// CHECK: attn.contribute %{{.*}} to %{{.*}} : f32
// CHECK: query_bounds(%b: index, %h: index, %j0: index, %j1: index,
// CANON-LABEL: func @all
// CANON: gradients(q, k, v, captures = [1, 2], sinks, scale)
// CANON-SAME: captures(%{{.*}}, %{{.*}}, %{{.*}} : tensor<16xf16>, tensor<16xf16>, f32, numbers = [1, 2, 3])
func.func @all(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse, %do: !o, %dlse: !lse, %scale: f32, %sinks: tensor<16xf32>,
    %seed: i64, %offset: i64, %a: tensor<16xf16>, %c: tensor<16xf16>, %w: f32) -> (!q, !k, !v, tensor<16xf16>, tensor<f32>, tensor<16xf32>, tensor<f32>) {
  %0:7 = attn.backward %q, %k, %v, %o, %lse, %do lse_gradient(%dlse : !lse)
    gradients(q, k, v, captures = [2, 3], sinks, scale)
    scale(%scale : f32) sinks(%sinks : tensor<16xf32>) dropout(0.1, %seed, %offset)
    captures(%a, %c, %c, %w : tensor<16xf16>, tensor<16xf16>, tensor<16xf16>, f32)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %ra: tensor<16xf16>, %rb: tensor<16xf16>, %rc: tensor<16xf16>, %rw: f32) {
      %0 = tensor.extract %rc[%h] : tensor<16xf16>
      %1 = tensor.extract %rb[%h] : tensor<16xf16>
      %2 = arith.addf %0, %1 : f16
      %3 = arith.extf %2 : f16 to f32
      %4 = arith.mulf %3, %rw : f32
      %5 = arith.addf %4, %s : f32
      attn.yield %5 : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %ra: tensor<16xf16>, %rb: tensor<16xf16>, %rc: tensor<16xf16>, %rw: f32) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index, %ra: tensor<16xf16>, %rb: tensor<16xf16>, %rc: tensor<16xf16>, %rw: f32) {
      %0 = arith.mulf %ds, %rw : f32
      attn.contribute %0 to %rc[%h] : tensor<16xf16>
      attn.contribute %ds to %rw : f32
      attn.yield %ds : f32
    }
    query_bounds(%b: index, %h: index, %j0: index, %j1: index, %ra: tensor<16xf16>, %rb: tensor<16xf16>, %rc: tensor<16xf16>, %rw: f32) {
      %n = attn.query_length
      attn.yield %j0, %j1, %n, %n : index, index, index, index
    }
    : !q, !k, !v, !o, !lse, !o -> !q, !k, !v, tensor<16xf16>, tensor<f32>, tensor<16xf32>, tensor<f32>
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 : !q, !k, !v, tensor<16xf16>, tensor<f32>, tensor<16xf32>, tensor<f32>
}

// An identity score_mod has no derivative; an all-true mask_mod has no bounds: the
// regions are removed.
// CANON-LABEL: func @trivial
// CANON: attn.backward
// CANON-NOT: score_
// CANON-NOT: query_bounds
// CANON-SAME: : tensor<4x16x?x64xbf16>
func.func @trivial(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse, %do: !o) -> !q {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      attn.yield %s : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %true = arith.constant true
      attn.yield %true : i1
    }
    score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index) {
      attn.yield %ds : f32
    }
    query_bounds(%b: index, %h: index, %j0: index, %j1: index) {
      %n = attn.query_length
      attn.yield %j0, %j1, %n, %n : index, index, index, index
    }
    : !q, !k, !v, !o, !lse, !o -> !q
  return %0 : !q
}
