// Gradients with respect to captured tensors are exact sums if they must be deterministic: 33
// integers per element, which an epilogue kernel adds. The sum of two values does not depend on the
// order: a gradient with a separate element per pair stays f32.
// RUN: fovea-opt %s --split-input-file --attn-differentiate --attn-to-tile=target=sm_90a | FileCheck %s
// RUN: fovea-opt %s --split-input-file --attn-differentiate --attn-to-tile=target=sm_80 | FileCheck %s

// CHECK: #[[$BINS:.*]] = affine_map<()[s0] -> (33, s0)>
// CHECK-LABEL: launch.abi @slopes
// CHECK-SAME: #launch.scratch_memref<"dcapture0_sum", ["capture0.0"] #[[$BINS]] zeroed = true>
// CHECK: tile.scatter add exact %{{.*}}, %{{.*}}[%{{.*}}] {{.*}}: tensor<{{64x64|128x1}}xf32, #tile.reg>, memref<33x?xi64>[index]
// CHECK-LABEL: gpu.func @slopes_dcapture0(
// The bins with units below f32, the other bins, infinities and NaN.
// CHECK: tile.load %{{.*}}[%c0{{.*}}, %{{.*}}] dims [1, -1] : memref<33x?xi64> to tensor<64x1xi64, #tile.reg>
// CHECK: scf.for %[[BIN:.*]] = %c3{{.*}} to %c32{{.*}} step %c1
// CHECK: %[[UNIT:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: %[[UNITS:.*]] = tile.broadcast %[[UNIT]]
// CHECK: tile.load %{{.*}}[%[[BIN]], %{{.*}}] dims [1, -1]
// CHECK: math.fma %{{.*}}, %[[UNITS]], %{{.*}}
// CHECK: tile.load %{{.*}}[%c32{{.*}}, %{{.*}}] dims [1, -1]
// CHECK: arith.truncf
// CHECK: tile.store

!x = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
!s = tensor<?xbf16>
func.func @slopes(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do deterministic gradients(q, k, v, captures = [0]) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %e = tensor.extract %tt[%h] : !s
      %f = arith.extf %e : bf16 to f32
      %n = arith.mulf %a, %f : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s
  return %dq, %dk, %dv, %dt : !x, !x, !x, !s
}

// -----

// CHECK: #[[$ELEMENTS:.*]] = affine_map<()[s0, s1, s2, s3] -> (s0, s1, s2, s3)>
// CHECK-LABEL: launch.abi @bias
// CHECK-SAME: #launch.scratch_memref<"dcapture0_sum", ["capture0.0", "capture0.1", "capture0.2", "capture0.3"] #[[$ELEMENTS]] zeroed = true>
// CHECK: tile.scatter add %{{.*}} : tensor<{{64x64|128x128}}xf32, #tile.reg>, memref<?x?x?x?xf32>

!x = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
!s = tensor<?x?x?x?xf32>
func.func @bias(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> !s {
  %dt = attn.backward %q, %k, %v, %o, %lse, %do deterministic gradients(captures = [0]) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %e = tensor.extract %tt[%b, %h, %i, %j] : !s
      %n = arith.addf %a, %e : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !s
  return %dt : !s
}
