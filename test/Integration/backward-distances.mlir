// Gradients of tables that are read by relative position, where a warp sums the values of each
// relative position: T5's buckets, and clipped positions in both directions, one table twice.
// Rows and keys that divide no tile, fewer and more keys than queries, causal order, packed
// sequences; exact sums, too, which are deterministic.
// DEFINE: %{target} = sm_80
// DEFINE: %{program} = %t.mlir
// DEFINE: %{run} = fovea-run %{program} --random=1 --check --target=%{target} --level=ptx
// DEFINE: %{buckets} = %{run} --entry=buckets --dims=B=2,Hq=2,Hkv=1,capture0.0=16,capture0.1=2
// DEFINE: %{distances} = %{run} --entry=distances --dims=B=2,Hq=2,Hkv=1,capture0.0=2,capture0.1=101,capture1.0=101
// DEFINE: %{packed} = %{run} --entry=packed --dims=Hq=2,Hkv=1,Sq=300,Skv=350,N+1=7,capture0.0=41
// DEFINE: %{all} = %{buckets},Sq=140,Skv=150 | FileCheck %s --check-prefix=BUCKETS && \
// DEFINE:   %{buckets},Sq=1,Skv=200 | FileCheck %s --check-prefix=BUCKETS && \
// DEFINE:   %{packed} | FileCheck %s --check-prefix=PACKED && \
// DEFINE:   %{buckets},Sq=200,Skv=3 | FileCheck %s --check-prefix=BUCKETS && \
// DEFINE:   %{distances},Sq=140,Skv=150 | FileCheck %s --check-prefix=DISTANCES && \
// DEFINE:   %{distances},Sq=70,Skv=200 | FileCheck %s --check-prefix=DISTANCES && \
// DEFINE:   %{distances},Sq=200,Skv=70 | FileCheck %s --check-prefix=DISTANCES && \
// DEFINE:   %{distances},Sq=64,Skv=64 | FileCheck %s --check-prefix=DISTANCES
// RUN: fovea-opt %s --attn-differentiate -o %t.mlir
// RUN: sed 's/%%do gradients/%%do deterministic gradients/' %s | fovea-opt --attn-differentiate -o %t.exact.mlir
// RUN: grep -q deterministic %t.exact.mlir
// RUN: %{all}
// REDEFINE: %{target} = sm_90a
// RUN: %{all}
// REDEFINE: %{program} = %t.exact.mlir
// RUN: %{all}

// The rounding error; a missing relative position would be far larger.
// BUCKETS: dcapture0 16x2: {{.*}} max relative error {{[0-9.]+e-0[5-9]}}, {{.*}} passed
// PACKED: dcapture0 41: {{.*}} max relative error {{[0-9.]+e-0[5-9]}}, {{.*}} passed
// DISTANCES: dq {{.*}} passed
// DISTANCES-NEXT: dcapture0 2x101: {{.*}} max relative error {{[0-9.]+e-0[5-9]}}, {{.*}} passed
// DISTANCES-NEXT: dcapture1 101: {{.*}} max relative error {{[0-9.]+e-0[5-9]}}, {{.*}} passed

!x = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
!t = tensor<?x?xf32>
// T5's buckets, by head in the second dimension: linear, then by the distance's logarithm, then one for all.
func.func @buckets(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !t) -> (!t) {
  %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(captures = [0]) captures(%t : !t)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !t) {
      %c4 = arith.constant 4 : index
      %c7 = arith.constant 7 : index
      %c15 = arith.constant 15 : index
      %four = arith.constant 4.0 : f32
      %d = arith.subi %i, %j : index
      %abs = math.absi %d : index
      %m = arith.maxsi %abs, %c4 : index
      %mi = arith.index_cast %m : index to i32
      %f = arith.sitofp %mi : i32 to f32
      %g = arith.divf %f, %four : f32
      %l = math.log %g : f32
      %s = arith.mulf %l, %four : f32
      %n = arith.fptosi %s : f32 to i32
      %ni = arith.index_cast %n : i32 to index
      %far = arith.addi %ni, %c4 : index
      %far2 = arith.minsi %far, %c15 : index
      %near = arith.minsi %abs, %c7 : index
      %is = arith.cmpi slt, %abs, %c4 : index
      %at = arith.select %is, %near, %far2 : index
      %e = tensor.extract %tt[%at, %h] : !t
      %y = arith.addf %a, %e : f32
      attn.yield %y : f32
    }
    : !x, !x, !x, !x, !r, !x -> !t
  return %dt : !t
}

// By the relative position and its negative, clipped, of causal pairs.
func.func @distances(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !t, %w: tensor<?xf32>) -> (!x, !t, tensor<?xf32>) {
  %dq, %dt, %dw = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, captures = [0, 1]) captures(%t, %w : !t, tensor<?xf32>)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !t, %ww: tensor<?xf32>) {
      %c9 = arith.constant 9 : index
      %c100 = arith.constant 100 : index
      %c0 = arith.constant 0 : index
      %d = arith.subi %i, %j : index
      %at = arith.addi %d, %c9 : index
      %at0 = arith.maxsi %at, %c0 : index
      %at1 = arith.minsi %at0, %c100 : index
      %e = tensor.extract %tt[%h, %at1] : !t
      %back = arith.subi %j, %i : index
      %abs = math.absi %back : index
      %abs1 = arith.minsi %abs, %c100 : index
      %f = tensor.extract %ww[%abs1] : tensor<?xf32>
      %g = tensor.extract %tt[%h, %abs1] : !t
      %m = arith.mulf %a, %g : f32
      %n = arith.addf %m, %e : f32
      %y = arith.addf %n, %f : f32
      attn.yield %y : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %tt: !t, %ww: tensor<?xf32>) {
      %m = arith.cmpi sge, %i, %j : index
      attn.yield %m : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !t, tensor<?xf32>
  return %dq, %dt, %dw : !x, !t, tensor<?xf32>
}

!p = tensor<1x?x?x64xbf16>
!n = tensor<?xi32>
func.func @packed(%q: !p, %k: !p, %v: !p, %o: !p, %lse: tensor<1x?x?xf32>, %do: !p, %cu_q: !n, %cu_k: !n, %t: tensor<?xf32>) -> tensor<?xf32> {
  %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(captures = [0]) packed(%cu_q, %cu_k : !n, !n) captures(%t : tensor<?xf32>)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: tensor<?xf32>) {
      %c0 = arith.constant 0 : index
      %c40 = arith.constant 40 : index
      %d = arith.subi %i, %j : index
      %at = arith.addi %d, %c40 : index
      %at0 = arith.maxsi %at, %c0 : index
      %at1 = arith.minsi %at0, %c40 : index
      %e = tensor.extract %tt[%at1] : tensor<?xf32>
      %y = arith.addf %a, %e : f32
      attn.yield %y : f32
    }
    : !p, !p, !p, !p, tensor<1x?x?xf32>, !p -> tensor<?xf32>
  return %dt : tensor<?xf32>
}
