// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --attn-make-gradient | FileCheck %s --check-prefix=GRADIENT
// RUN: fovea-opt %s --fovea-to-warp=target=sm_90a | FileCheck %s --check-prefix=PLAN

// Products of f32 may round their factors to tf32: the plan says so, and the gradient has the clause, too.
!t = tensor<1x?x2x64xf32>
!l = tensor<1x2x?xf32>
// CHECK-LABEL: func.func @rounded
// CHECK: attn.forward %{{.*}}, %{{.*}}, %{{.*}} layout(bshd) tf32
// GRADIENT-LABEL: func.func @rounded_backward
// GRADIENT: attn.backward {{.*}} layout(bshd) tf32
// PLAN-LABEL: launch.abi @rounded
// PLAN-SAME: #warp.mma_sync_unit
// PLAN-SAME: tf32
func.func @rounded(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v layout(bshd) tf32 : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

// PLAN-LABEL: launch.abi @exact
// PLAN-NOT: tf32
// PLAN: gpu.func
func.func @exact(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v layout(bshd) : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}
