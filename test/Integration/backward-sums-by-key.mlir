// Gradients of captured values that tiles of keys sum up themselves: a value per head and per
// key or 7 keys, in one program; grouped heads, rows and keys that divide no tile, rows
// without keys; deterministic; packed sequences; where dS is a product that is computed
// early (soft cap at head dim 128), with dropout, with a role per accumulator (head dim
// 256), and where the plan would otherwise have two M-chunks (160). The delta kernel sums sinks.
// DEFINE: %{level} = tile
// DEFINE: %{dims} = B=2,Hq=4,Hkv=2,Sq=140,Skv=150
// DEFINE: %{run} = fovea-run %t.mlir --random=1 --check --target=sm_90a --level=%{level}
// DEFINE: %{both} = %{run} --entry=both --dims=%{dims},capture0.0=4,capture1.0=2,capture1.1=150 | FileCheck %s --check-prefix=BOTH
// DEFINE: %{ordered} = %{run} --entry=ordered --dims=%{dims},capture0.0=4,capture1.0=2,capture1.1=150 | FileCheck %s --check-prefix=BOTH
// DEFINE: %{cap} = %{run} --entry=cap --dims=%{dims},capture0.0=4 | FileCheck %s --check-prefix=CAP
// DEFINE: %{packed} = %{run} --entry=packed --dims=Hq=4,Hkv=2,Sq=300,Skv=350,N+1=6,capture0.0=4,capture1.0=350 | FileCheck %s --check-prefix=PACKED
// RUN: fovea-opt %s --attn-differentiate -o %t.mlir
// RUN: %{both}
// RUN: %{ordered}
// RUN: %{cap}
// RUN: %{packed}
// REDEFINE: %{level} = warp
// RUN: %{both}
// RUN: %{cap}
// REDEFINE: %{level} = ptx
// RUN: %{both}
// RUN: %{ordered}
// RUN: %{cap}
// RUN: %{packed}
// RUN: %{run} --entry=sinks --dims=%{dims} | FileCheck %s --check-prefix=SINKS
// RUN: fovea-run %t.mlir --random=1 --check --target=sm_80 --level=ptx --entry=sinks --dims=%{dims} | FileCheck %s --check-prefix=SINKS
// RUN: sed 's/x64xbf16/x256xbf16/g' %t.mlir > %t.256.mlir
// RUN: fovea-run %t.256.mlir --random=1 --check --target=sm_90a --level=ptx --entry=both --dims=%{dims},capture0.0=4,capture1.0=2,capture1.1=150 | FileCheck %s --check-prefix=BOTH
// RUN: sed 's/x64xbf16/x160xbf16/g' %t.mlir > %t.160.mlir
// RUN: fovea-run %t.160.mlir --random=1 --check --target=sm_90a --level=ptx --entry=both --dims=%{dims},capture0.0=4,capture1.0=2,capture1.1=150 | FileCheck %s --check-prefix=BOTH

// BOTH: dq {{.*}} passed
// BOTH-NEXT: dk {{.*}} passed
// BOTH-NEXT: dv {{.*}} passed
// BOTH-NEXT: dcapture0 4: {{.*}} passed
// BOTH-NEXT: dcapture1 2x150: {{.*}} passed
// CAP: dq {{.*}} passed
// CAP-NEXT: dk {{.*}} passed
// CAP-NEXT: dv {{.*}} passed
// CAP-NEXT: dcapture0 4: {{.*}} passed
// PACKED: dq {{.*}} passed
// PACKED-NEXT: dk {{.*}} passed
// PACKED-NEXT: dv {{.*}} passed
// PACKED-NEXT: dcapture0 4: {{.*}} passed
// PACKED-NEXT: dcapture1 350: {{.*}} passed
// SINKS: dsinks 4: {{.*}} passed

!x = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
!s = tensor<?xf32>
!b = tensor<?x?xbf16>
func.func @both(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s, %u: !b) -> (!x, !x, !x, !s, !b) {
  %dq, %dk, %dv, %dt, %du = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0, 1]) captures(%t, %u : !s, !b)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s, %uu: !b) {
      %e = tensor.extract %tt[%h] : !s
      %c7 = arith.constant 7 : index
      %j7 = arith.divui %j, %c7 : index
      %f = tensor.extract %uu[%b, %j7] : !b
      %g = arith.extf %f : bf16 to f32
      %d = arith.subi %i, %j : index
      %d32 = arith.index_cast %d : index to i32
      %df = arith.sitofp %d32 : i32 to f32
      %c = arith.constant 1.0e-2 : f32
      %near = arith.mulf %df, %c : f32
      %slope = arith.mulf %e, %near : f32
      %n = arith.addf %a, %slope : f32
      %m = arith.addf %n, %g : f32
      attn.yield %m : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %tt: !s, %uu: !b) {
      %c3 = arith.constant 3 : index
      %l = arith.subi %i, %c3 : index
      %m = arith.cmpi sge, %l, %j : index
      attn.yield %m : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s, !b
  return %dq, %dk, %dv, %dt, %du : !x, !x, !x, !s, !b
}

func.func @ordered(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s, %u: !b) -> (!x, !x, !x, !s, !b) {
  %dq, %dk, %dv, %dt, %du = attn.backward %q, %k, %v, %o, %lse, %do deterministic gradients(q, k, v, captures = [0, 1]) captures(%t, %u : !s, !b)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s, %uu: !b) {
      %e = tensor.extract %tt[%h] : !s
      %f = tensor.extract %uu[%b, %j] : !b
      %g = arith.extf %f : bf16 to f32
      %n = arith.addf %a, %e : f32
      %m = arith.addf %n, %g : f32
      attn.yield %m : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %tt: !s, %uu: !b) {
      %m = arith.cmpi sge, %i, %j : index
      attn.yield %m : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s, !b
  return %dq, %dk, %dv, %dt, %du : !x, !x, !x, !s, !b
}

!y = tensor<?x?x?x128xbf16>
func.func @cap(%q: !y, %k: !y, %v: !y, %o: !y, %lse: !r, %do: !y, %seed: i64, %offset: i64, %t: !s) -> (!y, !y, !y, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) dropout(0.25, %seed, %offset) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %e = tensor.extract %tt[%h] : !s
      %c = arith.constant 2.0 : f32
      %x = arith.divf %a, %c : f32
      %y = math.tanh %x : f32
      %z = arith.mulf %y, %c : f32
      %n = arith.mulf %z, %e : f32
      attn.yield %n : f32
    }

    : !y, !y, !y, !y, !r, !y -> !y, !y, !y, !s
  return %dq, %dk, %dv, %dt : !y, !y, !y, !s
}

!p = tensor<1x?x?x64xbf16>
!pr = tensor<1x?x?xf32>
!n = tensor<?xi32>
func.func @packed(%q: !p, %k: !p, %v: !p, %o: !p, %lse: !pr, %do: !p, %cu_q: !n, %cu_k: !n, %t: !s, %u: !s) -> (!p, !p, !p, !s, !s) {
  %dq, %dk, %dv, %dt, %du = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0, 1]) packed(%cu_q, %cu_k : !n, !n) captures(%t, %u : !s, !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s, %uu: !s) {
      %e = tensor.extract %tt[%h] : !s
      %f = tensor.extract %uu[%j] : !s
      %n = arith.addf %a, %e : f32
      %m = arith.addf %n, %f : f32
      attn.yield %m : f32
    }
    : !p, !p, !p, !p, !pr, !p -> !p, !p, !p, !s, !s
  return %dq, %dk, %dv, %dt, %du : !p, !p, !p, !s, !s
}

func.func @sinks(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %s: !s) -> !s {
  %ds = attn.backward %q, %k, %v, %o, %lse, %do gradients(sinks) sinks(%s : !s)
    : !x, !x, !x, !x, !r, !x -> !s
  return %ds : !s
}
