// RUN: fovea-opt %s --attn-make-gradient | FileCheck %s
// RUN: fovea-opt %s --attn-make-gradient='gradients=capture1,v lse-gradient only-backward' | FileCheck %s --check-prefix=SOME
// RUN: fovea-opt %s --attn-make-gradient='gradients=q deterministic' | FileCheck %s --check-prefix=SAME
// SAME-LABEL: func.func @f_backward(
// SAME: %dq = attn.backward {{.*}} gradients(q) deterministic scale(
// RUN: not fovea-opt %s --attn-make-gradient=gradients=w 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: expected a gradient among 'q', 'k', 'v', 'sinks', 'scale' and captured values such as 'capture0', found 'w'
// RUN: not fovea-opt %s --attn-make-gradient=gradients=capture1,q,capture1 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: gradient 'capture1' is requested twice

!t = tensor<2x4x?x16xbf16>
!rows = tensor<2x4x?xf32>
// CHECK-LABEL: func @f(
// CHECK: %[[O:.*]], %[[LSE:.*]] = attn.forward {{.*}} layout(bshd) sinks
// CHECK: -> tensor<2x?x4x16xbf16>, tensor<2x4x?xf32>
// CHECK: return %[[O]], %[[LSE]]
// CHECK-LABEL: func @f_backward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x?x4x16xbf16>, %[[K:[a-z0-9]+]]: tensor<2x?x4x16xbf16>, %[[V:[a-z0-9]+]]: tensor<2x?x4x16xbf16>, %[[BO:[a-z0-9]+]]: tensor<2x?x4x16xbf16>, %[[BLSE:[a-z0-9]+]]: tensor<2x4x?xf32>, %[[DO:[a-z0-9]+]]: tensor<2x?x4x16xbf16>, %[[SCALE:[a-z0-9]+]]: f32
// CHECK: %dq, %dk, %dv, %dcapture1, %dcapture2, %dsinks, %dscale = attn.backward %[[Q]], %[[K]], %[[V]], %[[BO]], %[[BLSE]], %[[DO]]
// CHECK-SAME: gradients(q, k, v, captures = [1, 2], sinks, scale) scale(%[[SCALE]] : f32) layout(bshd)
// CHECK: score_mod(
// CHECK: mask_mod(
// CHECK: return %dq, %dk, %dv, %dcapture1, %dcapture2, %dsinks, %dscale

// SOME-NOT: func @f(
// SOME-LABEL: func @f_backward(
// SOME: %dv, %dcapture1 = attn.backward {{.*}} lse_gradient(%{{.*}} : tensor<2x4x?xf32>) gradients(v, captures = [1])
!u = tensor<2x?x4x16xbf16>
func.func @f(%q: !u, %k: !u, %v: !u, %scale: f32, %n: tensor<4xi32>, %t: tensor<4xf32>, %w: f32, %sinks: tensor<4xf32>) -> !u {
  %o = attn.forward %q, %k, %v scale(%scale : f32) layout(bshd) sinks(%sinks : tensor<4xf32>) captures(%n, %t, %w : tensor<4xi32>, tensor<4xf32>, f32)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %rn: tensor<4xi32>, %rt: tensor<4xf32>, %rw: f32) {
      %0 = tensor.extract %rt[%h] : tensor<4xf32>
      %1 = arith.mulf %0, %rw : f32
      %2 = arith.addf %s, %1 : f32
      attn.yield %2 : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %rn: tensor<4xi32>, %rt: tensor<4xf32>, %rw: f32) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !u, !u, !u -> !u
  return %o : !u
}

// A function without attn.forward is not changed.
// CHECK-LABEL: func @other
// CHECK-NOT: backward
func.func @other(%q: !t) -> !t {
  return %q : !t
}
