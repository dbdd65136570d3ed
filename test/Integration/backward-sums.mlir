// Gradients of captured values, sinks and scale: accumulated in zeroed memory and
// rounded by an epilogue. A table by clipped relative position, one element per head in
// bf16, a scalar, one for each query, a full bias; a loss on the log-sum-exp, too. Rows
// and keys that divide no tile, grouped heads; on sm_90a with the warp-specialised kernel.
// DEFINE: %{target} = sm_80
// DEFINE: %{level} = tile
// DEFINE: %{run} = fovea-run %t.mlir --random=1 --check --target=%{target} --level=%{level}
// DEFINE: %{table} = %{run} --entry=table --dims=B=2,Hq=4,Hkv=2,Sq=140,Skv=150,capture0.0=4,capture0.1=16,capture1.0=4,capture3.0=2,capture3.1=140 | FileCheck %s --check-prefix=TABLE
// DEFINE: %{sinks} = %{run} --entry=sinks --dims=B=2,Hq=4,Hkv=2,Sq=140,Skv=150 | FileCheck %s --check-prefix=SINKS
// DEFINE: %{bias} = %{run} --entry=bias --dims=B=2,Hq=4,Hkv=2,Sq=140,Skv=152,capture0.1=4,capture0.2=140,capture0.3=152 | FileCheck %s --check-prefix=BIAS
// RUN: fovea-opt %s --attn-differentiate -o %t.mlir
// RUN: %{table}
// RUN: %{sinks}
// RUN: %{bias}
// REDEFINE: %{level} = warp
// RUN: %{table}
// RUN: %{sinks}
// RUN: %{bias}
// REDEFINE: %{level} = ptx
// RUN: %{table}
// RUN: %{sinks}
// RUN: %{bias}
// REDEFINE: %{target} = sm_90a
// RUN: %{table}
// RUN: %{sinks}
// RUN: %{bias}
// REDEFINE: %{level} = warp
// RUN: %{table}

// No queries, no keys: sums of nothing are 0.
// REDEFINE: %{level} = ptx
// DEFINE: %{none} = %{run} --entry=sinks --dims=B=1,Hq=2,Hkv=2
// RUN: %{none},Sq=0,Skv=70 | FileCheck %s --check-prefix=SINKS
// RUN: %{none},Sq=70,Skv=0 | FileCheck %s --check-prefix=SINKS

// TABLE: dq {{.*}} passed
// TABLE-NEXT: dk {{.*}} passed
// TABLE-NEXT: dv {{.*}} passed
// TABLE-NEXT: dcapture0 4x16: {{.*}} passed
// TABLE-NEXT: dcapture1 4: {{.*}} passed
// TABLE-NEXT: dcapture2 : {{.*}} passed
// TABLE-NEXT: dcapture3 2x140: {{.*}} passed
// SINKS: dq {{.*}} passed
// SINKS-NEXT: dsinks {{.*}} passed
// SINKS-NEXT: dscale : {{.*}} passed
// BIAS: dcapture0 1x4x140x152: {{.*}} passed

!x = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
func.func @table(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: tensor<?x?xf32>, %w: tensor<?xbf16>, %s: f32, %pq: tensor<?x?xf32>) -> (!x, !x, !x, tensor<?x?xf32>, tensor<?xbf16>, tensor<f32>, tensor<?x?xf32>) {
  %dq, %dk, %dv, %dt, %dw, %ds, %dpq = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0, 1, 2, 3])
    captures(%t, %w, %s, %pq : tensor<?x?xf32>, tensor<?xbf16>, f32, tensor<?x?xf32>)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: tensor<?x?xf32>, %ww: tensor<?xbf16>, %ss: f32, %qq: tensor<?x?xf32>) {
      %c15 = arith.constant 15 : index
      %c0 = arith.constant 0 : index
      %d = arith.subi %i, %j : index
      %d1 = arith.maxsi %d, %c0 : index
      %d2 = arith.minsi %d1, %c15 : index
      %e = tensor.extract %tt[%h, %d2] : tensor<?x?xf32>
      %f = tensor.extract %ww[%h] : tensor<?xbf16>
      %ff = arith.extf %f : bf16 to f32
      %g = tensor.extract %qq[%b, %i] : tensor<?x?xf32>
      %m = arith.mulf %a, %ff : f32
      %n = arith.addf %m, %e : f32
      %o1 = arith.mulf %g, %ss : f32
      %o2 = arith.mulf %n, %o1 : f32
      attn.yield %o2 : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %tt: tensor<?x?xf32>, %ww: tensor<?xbf16>, %ss: f32, %qq: tensor<?x?xf32>) {
      %m = arith.cmpi sge, %i, %j : index
      attn.yield %m : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, tensor<?x?xf32>, tensor<?xbf16>, tensor<f32>, tensor<?x?xf32>
  return %dq, %dk, %dv, %dt, %dw, %ds, %dpq : !x, !x, !x, tensor<?x?xf32>, tensor<?xbf16>, tensor<f32>, tensor<?x?xf32>
}

func.func @sinks(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %dl: !r, %scale: f32, %s: tensor<?xf32>) -> (!x, tensor<?xf32>, tensor<f32>) {
  %dq, %ds, %dsc = attn.backward %q, %k, %v, %o, %lse, %do lse_gradient(%dl : !r) gradients(q, sinks, scale) scale(%scale : f32) sinks(%s : tensor<?xf32>)
    : !x, !x, !x, !x, !r, !x -> !x, tensor<?xf32>, tensor<f32>
  return %dq, %ds, %dsc : !x, tensor<?xf32>, tensor<f32>
}
!b = tensor<1x?x?x?xbf16>
func.func @bias(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %s: !b) -> (!b) {
  %ds = attn.backward %q, %k, %v, %o, %lse, %do gradients(captures = [0]) captures(%s : !b)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %t: !b) {
      %c0 = arith.constant 0 : index
      %e = tensor.extract %t[%c0, %h, %i, %j] : !b
      %f = arith.extf %e : bf16 to f32
      %g = arith.addf %a, %f : f32
      attn.yield %g : f32
    }
    : !x, !x, !x, !x, !r, !x -> !b
  return %ds : !b
}
