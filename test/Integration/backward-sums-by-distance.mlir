// Gradients of captured values that pairs read by relative position, with tiles of keys:
// an added bias and T5's buckets, whose contributions are dS; a factor and a bias after a
// soft cap, whose contributions are stored separately; with per-key values in one
// program. Grouped heads, rows and keys that divide no tile, fewer and more keys than queries,
// rows without keys; deterministic; packed sequences; with a role per accumulator (head dim 256), and where the plan
// would otherwise have two M-chunks (160).
// DEFINE: %{level} = tile
// DEFINE: %{program} = %t.mlir
// DEFINE: %{dims} = B=2,Hq=4,Hkv=2,Sq=140,Skv=150
// DEFINE: %{run} = fovea-run %{program} --random=1 --check --target=sm_90a --level=%{level}
// DEFINE: %{bias} = %{run} --entry=bias --dims=%{dims},capture0.0=4,capture0.1=41,capture1.0=9,capture1.1=4 | FileCheck %s --check-prefix=BIAS
// DEFINE: %{factor} = %{run} --entry=factor --dims=%{dims},capture0.0=41,capture1.0=200 | FileCheck %s --check-prefix=FACTOR
// DEFINE: %{cap} = %{run} --entry=cap --dims=%{dims},capture0.0=41 | FileCheck %s --check-prefix=CAP
// DEFINE: %{packed} = %{run} --entry=packed --dims=Hq=4,Hkv=2,Sq=300,Skv=350,N+1=6,capture0.0=41 | FileCheck %s --check-prefix=CAP
// RUN: fovea-opt %s --attn-differentiate -o %t.mlir
// RUN: %{bias}
// RUN: %{factor}
// RUN: %{cap}
// RUN: %{packed}
// REDEFINE: %{level} = warp
// RUN: %{bias}
// RUN: %{factor}
// RUN: %{cap}
// REDEFINE: %{level} = ptx
// RUN: %{bias}
// RUN: %{factor}
// RUN: %{cap}
// RUN: %{packed}
// REDEFINE: %{dims} = B=1,Hq=4,Hkv=4,Sq=200,Skv=70
// RUN: %{bias}
// RUN: %{cap}
// REDEFINE: %{dims} = B=1,Hq=2,Hkv=2,Sq=1,Skv=200
// RUN: %{factor}
// REDEFINE: %{dims} = B=2,Hq=4,Hkv=2,Sq=140,Skv=150
// RUN: sed 's/x64xbf16/x128xbf16/g' %t.mlir > %t.128.mlir
// REDEFINE: %{program} = %t.128.mlir
// RUN: %{bias}
// RUN: %{factor}
// RUN: %{cap}
// RUN: sed 's/x64xbf16/x256xbf16/g' %t.mlir > %t.256.mlir
// REDEFINE: %{program} = %t.256.mlir
// RUN: %{bias}
// RUN: %{cap}
// RUN: sed 's/x64xbf16/x160xbf16/g' %t.mlir > %t.160.mlir
// REDEFINE: %{program} = %t.160.mlir
// RUN: %{bias}
// RUN: %{factor}
// In one order, and sums that are the same in any order.
// RUN: sed 's/%%do gradients/%%do deterministic gradients/' %s | fovea-opt --attn-differentiate -o %t.exact.mlir
// RUN: grep -q deterministic %t.exact.mlir
// REDEFINE: %{program} = %t.exact.mlir
// RUN: %{bias}
// RUN: %{cap}

// BIAS: dq {{.*}} passed
// BIAS-NEXT: dk {{.*}} passed
// BIAS-NEXT: dv {{.*}} passed
// BIAS-NEXT: dcapture0 4x41: {{.*}} passed
// BIAS-NEXT: dcapture1 9x4: {{.*}} passed
// FACTOR: dq {{.*}} passed
// FACTOR-NEXT: dk {{.*}} passed
// FACTOR-NEXT: dv {{.*}} passed
// FACTOR-NEXT: dcapture0 41: {{.*}} passed
// FACTOR-NEXT: dcapture1 {{.*}}: {{.*}} passed
// CAP: dq {{.*}} passed
// CAP-NEXT: dk {{.*}} passed
// CAP-NEXT: dv {{.*}} passed
// CAP-NEXT: dcapture0 41: {{.*}} passed

!x = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
!t = tensor<?x?xf32>
!s = tensor<?xf32>
func.func @bias(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !t, %u: !t) -> (!x, !x, !x, !t, !t) {
  %dq, %dk, %dv, %dt, %du = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0, 1]) captures(%t, %u : !t, !t)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !t, %uu: !t) {
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %c20 = arith.constant 20 : index
      %c40 = arith.constant 40 : index
      %d = arith.subi %i, %j : index
      %at = arith.addi %d, %c20 : index
      %at0 = arith.maxsi %at, %c0 : index
      %at1 = arith.minsi %at0, %c40 : index
      %e = tensor.extract %tt[%h, %at1] : !t
      %abs = math.absi %d : index
      %bucket = arith.divui %abs, %c8 : index
      %last = arith.minsi %bucket, %c8 : index
      %f = tensor.extract %uu[%last, %h] : !t
      %m = arith.addf %a, %e : f32
      %y = arith.addf %m, %f : f32
      attn.yield %y : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %tt: !t, %uu: !t) {
      %m = arith.cmpi sge, %i, %j : index
      attn.yield %m : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !t, !t
  return %dq, %dk, %dv, %dt, %du : !x, !x, !x, !t, !t
}

func.func @factor(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s, %u: !s) -> (!x, !x, !x, !s, !s) {
  %dq, %dk, %dv, %dt, %du = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0, 1]) captures(%t, %u : !s, !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s, %uu: !s) {
      %c40 = arith.constant 40 : index
      %d = arith.subi %j, %i : index
      %abs = math.absi %d : index
      %at = arith.minsi %abs, %c40 : index
      %e = tensor.extract %tt[%at] : !s
      %f = tensor.extract %uu[%j] : !s
      %m = arith.mulf %a, %e : f32
      %y = arith.addf %m, %f : f32
      attn.yield %y : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s, !s
  return %dq, %dk, %dv, %dt, %du : !x, !x, !x, !s, !s
}

func.func @cap(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %two = arith.constant 2.0 : f32
      %c40 = arith.constant 40 : index
      %d = arith.subi %i, %j : index
      %abs = math.absi %d : index
      %at = arith.minsi %abs, %c40 : index
      %e = tensor.extract %tt[%at] : !s
      %l = math.tanh %a : f32
      %m = arith.mulf %l, %two : f32
      %y = arith.addf %m, %e : f32
      attn.yield %y : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %m = arith.cmpi sge, %i, %j : index
      attn.yield %m : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s
  return %dq, %dk, %dv, %dt : !x, !x, !x, !s
}

!p = tensor<1x?x?x64xbf16>
!n = tensor<?xi32>
func.func @packed(%q: !p, %k: !p, %v: !p, %o: !p, %lse: tensor<1x?x?xf32>, %do: !p, %cu_q: !n, %cu_k: !n, %t: !s) -> (!p, !p, !p, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) packed(%cu_q, %cu_k : !n, !n) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %c0 = arith.constant 0 : index
      %c40 = arith.constant 40 : index
      %d = arith.subi %i, %j : index
      %at = arith.addi %d, %c40 : index
      %at0 = arith.maxsi %at, %c0 : index
      %at1 = arith.minsi %at0, %c40 : index
      %e = tensor.extract %tt[%at1] : !s
      %y = arith.addf %a, %e : f32
      attn.yield %y : f32
    }
    : !p, !p, !p, !p, tensor<1x?x?xf32>, !p -> !p, !p, !p, !s
  return %dq, %dk, %dv, %dt : !p, !p, !p, !s
}
