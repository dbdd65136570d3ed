// RUN: fovea-opt %s --attn-analyze-mask --attn-to-tile=target=sm_90a | FileCheck %s

// dS is computed from P in f32, and P is rounded for dV's MMA after that: dS does not use rounded
// P, and both are never live in registers at the same time. dP starts from -delta, as the
// preprocess kernel stores it.
// CHECK-LABEL: gpu.func @dense(
// CHECK: %[[P:.*]] = math.exp2
// CHECK-NEXT: %[[LOADED:.*]] = tile.load "delta"
// CHECK: %[[START:.*]] = tile.broadcast %[[LOADED]]
// CHECK: %[[DP:.*]] = tile.dot "dp" %{{.*}}, %{{.*}}, %[[START]]
// CHECK: %[[DS:.*]] = arith.mulf %[[P]], %[[DP]]
// CHECK: arith.truncf %[[DS]]
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[P]]
// CHECK: tile.dot "dv" %[[ROUNDED]]
// CHECK-LABEL: gpu.func @dense_delta(
// CHECK: %[[MINUS:.*]] = arith.negf
// CHECK: tile.store "delta" %[[MINUS]]
!t = tensor<?x?x?x128xbf16>
!l = tensor<?x?x?xf32>
func.func @dense(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !l, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}
