// Gradients against finite differences of the forward, in f64: of all inputs, those of the
// log-sum-exp's loss and of dropout too; of rows that see nothing. A derivative that is
// wrong shows, and so does one that is left out.
// DEFINE: %{run} = fovea-run %s --random=3 --dims=Sq=20,Skv=30 --check=differences
// RUN: %{run} --entry=all | FileCheck %s
// RUN: %{run} --entry=all --json | FileCheck %s --check-prefix=JSON
// RUN: not %{run} --entry=wrong | FileCheck %s --check-prefix=WRONG
// RUN: not %{run} --entry=forgotten | FileCheck %s --check-prefix=FORGOTTEN
// RUN: not %{run} --entry=forward 2>&1 | FileCheck %s --check-prefix=FORWARD
// RUN: %{run} --entry=nothing | FileCheck %s --check-prefix=NOTHING

// CHECK: dq against finite differences: {{.*}} of the tolerance: passed
// CHECK-NEXT: dk against finite differences: {{.*}} passed
// CHECK-NEXT: dv against finite differences: {{.*}} passed
// CHECK-NEXT: dcapture0 against finite differences: {{.*}} passed
// CHECK-NEXT: dsinks against finite differences: {{.*}} passed
// CHECK-NEXT: dscale against finite differences: {{.*}} passed
// JSON: "differences": [
// JSON: "name": "dscale",
// JSON-NEXT: "passed": true,
// WRONG: dq against finite differences: {{.*}} FAILED
// WRONG: dv against finite differences: {{.*}} passed
// FORGOTTEN: dq against finite differences: {{.*}} passed
// FORGOTTEN-NEXT: dcapture0 against finite differences: {{.*}} FAILED
// FORWARD: error: --check=differences requires a function with one attn.backward and the forward's results as inputs
// NOTHING: dq against finite differences: 0 of the tolerance: passed

!x = tensor<1x2x?x16xbf16>
!r = tensor<1x2x?xf32>
!w = tensor<2xf32>

func.func @all(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %dlse: !r, %scale: f32, %sinks: !w, %seed: i64, %offset: i64, %w: !w)
    -> (!x, !x, !x, !w, !w, tensor<f32>) {
  %0:6 = attn.backward %q, %k, %v, %o, %lse, %do lse_gradient(%dlse : !r) scale(%scale : f32) sinks(%sinks : !w)
    dropout(0.25, %seed, %offset) gradients(q, k, v, captures = [0], sinks, scale) captures(%w : !w)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: !w) {
      %e = tensor.extract %c[%h] : !w
      %p = arith.mulf %s, %e : f32
      %t = math.tanh %p : f32
      attn.yield %t : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: !w) {
      %keep = arith.cmpi ule, %j, %i : index
      attn.yield %keep : i1
    }
    score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index, %c: !w) {
      %one = arith.constant 1.0 : f32
      %e = tensor.extract %c[%h] : !w
      %p = arith.mulf %s, %e : f32
      %t = math.tanh %p : f32
      %tt = arith.mulf %t, %t : f32
      %slope = arith.subf %one, %tt : f32
      %dp = arith.mulf %ds, %slope : f32
      %dw = arith.mulf %dp, %s : f32
      attn.contribute %dw to %c[%h] : !w
      %d = arith.mulf %dp, %e : f32
      attn.yield %d : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !w, !w, tensor<f32>
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5 : !x, !x, !x, !w, !w, tensor<f32>
}

// The slope of tanh is not 1 - tanh.
func.func @wrong(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x) {
  %0:2 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, v)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %t = math.tanh %s : f32
      attn.yield %t : f32
    }
    score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index) {
      %one = arith.constant 1.0 : f32
      %t = math.tanh %s : f32
      %slope = arith.subf %one, %t : f32
      %d = arith.mulf %ds, %slope : f32
      attn.yield %d : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x
  return %0#0, %0#1 : !x, !x
}

// The table is read twice.
func.func @forgotten(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %w: !w) -> (!x, !w) {
  %0:2 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, captures = [0]) captures(%w : !w)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: !w) {
      %one = arith.constant 1 : index
      %n = arith.andi %j, %one : index
      %m = arith.andi %i, %one : index
      %x = tensor.extract %c[%n] : !w
      %y = tensor.extract %c[%m] : !w
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %s, %p : f32
      attn.yield %t : f32
    }
    score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index, %c: !w) {
      %one = arith.constant 1 : index
      %n = arith.andi %j, %one : index
      %m = arith.andi %i, %one : index
      %y = tensor.extract %c[%m] : !w
      %dx = arith.mulf %ds, %y : f32
      attn.contribute %dx to %c[%n] : !w
      attn.yield %ds : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !w
  return %0#0, %0#1 : !x, !w
}

func.func @forward(%q: !x, %k: !x, %v: !x) -> (!x, !r) {
  %o, %lse = attn.forward %q, %k, %v : !x, !x, !x -> !x, !r
  return %o, %lse : !x, !r
}

func.func @nothing(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> !x {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %no = arith.constant false
      attn.yield %no : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x
  return %0 : !x
}
