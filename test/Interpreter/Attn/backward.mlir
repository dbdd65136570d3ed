// The semantics of attn.backward, compared with finite differences.
// DEFINE: %{gradients} = %python %S/../Inputs/gradients.py
// DEFINE: %{d} = %t.d

// Grouped heads, unequal head dims and lengths, a loss on LSE, sinks, a run-time scale.
// RUN: %{gradients} inputs %{d} sizes=2,6,2,5,7,4,6 dlse=1 sinks=1 scale=0.4
// RUN: fovea-run %s --entry=plain --precision=exact --inputs %{d}/q.npy %{d}/k.npy %{d}/v.npy %{d}/o.npy %{d}/lse.npy %{d}/do.npy %{d}/dlse.npy 0.4 %{d}/sinks.npy \
// RUN:   --outputs %{d}/dq.npy %{d}/dk.npy %{d}/dv.npy %{d}/dsinks.npy %{d}/dscale.npy
// RUN: %{gradients} check %{d} sizes=2,6,2,5,7,4,6 dlse=1 sinks=1 scale=0.4 by=q,k,v,sinks,scale | FileCheck %s --check-prefix=PLAIN
// PLAIN: dq agrees
// PLAIN-NEXT: dk agrees
// PLAIN-NEXT: dv agrees
// PLAIN-NEXT: dsinks agrees
// PLAIN-NEXT: dscale agrees

// A missing derivative is computed; a function without a derivative is an
// error.
// RUN: fovea-run %s --entry=derived --precision=exact --inputs %{d}/q.npy %{d}/k.npy %{d}/v.npy %{d}/o.npy %{d}/lse.npy %{d}/do.npy --outputs %{d}/dq.npy
// RUN: not fovea-run %s --entry=underivable --inputs %{d}/q.npy %{d}/k.npy %{d}/v.npy %{d}/o.npy %{d}/lse.npy %{d}/do.npy 2>&1 | FileCheck %s --check-prefix=UNDERIVABLE
// UNDERIVABLE: error: 'arith.bitcast' has no derivative rule

// A mask with rows without keys, a score_mod with a table by relative position,
// which is read twice, and a weight; more queries than keys; the BSHD layout.
// RUN: %{gradients} inputs %{d} sizes=1,2,1,9,6,4,4 layout=bshd captures=t:16,w:2 score="2 * s * w[h] + t[i - j + 6] + s * t[j]" mask="j <= i - 3"
// RUN: fovea-run %s --entry=table --precision=exact --inputs %{d}/q.npy %{d}/k.npy %{d}/v.npy %{d}/o.npy %{d}/lse.npy %{d}/do.npy %{d}/t.npy %{d}/w.npy \
// RUN:   --outputs %{d}/dq.npy %{d}/dk.npy %{d}/dv.npy %{d}/dt.npy %{d}/dw.npy
// RUN: %{gradients} check %{d} sizes=1,2,1,9,6,4,4 layout=bshd captures=t:16,w:2 score="2 * s * w[h] + t[i - j + 6] + s * t[j]" mask="j <= i - 3" by=q,k,v,t,w | FileCheck %s --check-prefix=TABLE
// TABLE: dq agrees
// TABLE-NEXT: dk agrees
// TABLE-NEXT: dv agrees
// TABLE-NEXT: dt agrees
// TABLE-NEXT: dw agrees

!t = tensor<?x?x?x4xf32>
!v = tensor<?x?x?x6xf32>
!rows = tensor<?x?x?xf32>
func.func @plain(%q: !t, %k: !t, %v: !v, %o: !v, %lse: !rows, %do: !v, %dlse: !rows, %scale: f32, %sinks: tensor<?xf32>)
    -> (!t, !t, !v, tensor<?xf32>, tensor<f32>) {
  %0:5 = attn.backward %q, %k, %v, %o, %lse, %do lse_gradient(%dlse : !rows) gradients(q, k, v, sinks, scale)
      scale(%scale : f32) sinks(%sinks : tensor<?xf32>)
      : !t, !t, !v, !v, !rows, !v -> !t, !t, !v, tensor<?xf32>, tensor<f32>
  return %0#0, %0#1, %0#2, %0#3, %0#4 : !t, !t, !v, tensor<?xf32>, tensor<f32>
}

func.func @table(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %table: tensor<?xf32>, %weight: tensor<?xf32>)
    -> (!t, !t, !t, tensor<?xf32>, tensor<?xf32>) {
  %0:5 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0, 1]) layout(bshd)
      captures(%table, %weight : tensor<?xf32>, tensor<?xf32>)
      score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>, %w: tensor<?xf32>) {
        %two = arith.constant 2.0 : f32
        %c6 = arith.constant 6 : index
        %wh = tensor.extract %w[%h] : tensor<?xf32>
        %d = arith.subi %i, %j : index
        %at = arith.addi %d, %c6 : index
        %bias = tensor.extract %t[%at] : tensor<?xf32>
        %by = tensor.extract %t[%j] : tensor<?xf32>
        %s2 = arith.mulf %s, %two : f32
        %0 = arith.mulf %s2, %wh : f32
        %1 = arith.addf %0, %bias : f32
        %2 = arith.mulf %s, %by : f32
        %3 = arith.addf %1, %2 : f32
        attn.yield %3 : f32
      }
      mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>, %w: tensor<?xf32>) {
        %c3 = arith.constant 3 : index
        %first = arith.subi %i, %c3 : index
        %keep = arith.cmpi sle, %j, %first : index
        attn.yield %keep : i1
      }
      score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>, %w: tensor<?xf32>) {
        %two = arith.constant 2.0 : f32
        %c6 = arith.constant 6 : index
        %wh = tensor.extract %w[%h] : tensor<?xf32>
        %d = arith.subi %i, %j : index
        %at = arith.addi %d, %c6 : index
        %by = tensor.extract %t[%j] : tensor<?xf32>
        attn.contribute %ds to %t[%at] : tensor<?xf32>
        %0 = arith.mulf %ds, %s : f32
        attn.contribute %0 to %t[%j] : tensor<?xf32>
        %1 = arith.mulf %0, %two : f32
        attn.contribute %1 to %w[%h] : tensor<?xf32>
        %2 = arith.mulf %wh, %two : f32
        %3 = arith.addf %2, %by : f32
        %4 = arith.mulf %ds, %3 : f32
        attn.yield %4 : f32
      }
      : !t, !t, !t, !t, !rows, !t -> !t, !t, !t, tensor<?xf32>, tensor<?xf32>
  return %0#0, %0#1, %0#2, %0#3, %0#4 : !t, !t, !t, tensor<?xf32>, tensor<?xf32>
}

func.func @derived(%q: !t, %k: !t, %v: !v, %o: !v, %lse: !rows, %do: !v) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q)
      score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
        %r = arith.addf %s, %s : f32
        attn.yield %r : f32
      } : !t, !t, !v, !v, !rows, !v -> !t
  return %0 : !t
}

func.func @underivable(%q: !t, %k: !t, %v: !v, %o: !v, %lse: !rows, %do: !v) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q)
      score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
        %r = arith.bitcast %s : f32 to f32
        attn.yield %r : f32
      } : !t, !t, !v, !v, !rows, !v -> !t
  return %0 : !t
}
