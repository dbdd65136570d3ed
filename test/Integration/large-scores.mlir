// Finite scores that mean "hidden": keys that a row processes first or last, whole rows,
// by a constant of score_mod and by a captured bias; all recurrences, targets and levels,
// and the gradients. The softmax offset of such rows must be exact: otherwise probabilities
// become infinite, and NaN once another block rescales them.
// DEFINE: %{sizes} = --dims=B=1,Hq=2,Hkv=1,Sq=200,Skv=300 --random=1 --check
// DEFINE: %{run} = fovea-run %s %{sizes}
// DEFINE: %{passed} = FileCheck %s --check-prefix=PASSED
// PASSED: o {{.*}}: passed
// PASSED-NOT: FAILED

// RUN: %{run} --entry=later_f16 --target=sm_80 --level=tile | %{passed}
// RUN: %{run} --entry=later_f16 --target=sm_80 --level=ptx | %{passed}
// RUN: %{run} --entry=later --target=sm_90a --level=warp | %{passed}
// RUN: %{run} --entry=later --target=sm_90a --level=ptx | %{passed}
// RUN: %{run} --entry=earlier --target=sm_80 --level=ptx | %{passed}
// RUN: %{run} --entry=earlier --target=sm_90a --level=ptx | %{passed}
// RUN: %{run} --entry=earlier --target=sm_100a --level=warp | %{passed}
// RUN: %{run} --entry=earlier --target=sm_90a --level=tile --recurrence=three-pass | %{passed}
// RUN: %{run} --entry=earlier --target=sm_90a --level=tile --recurrence=normalized | %{passed}
// RUN: %{run} --entry=earlier --target=sm_90a --level=tile --recurrence=deferred | %{passed}
// RUN: %{run} --entry=earlier --target=sm_90a --level=tile --recurrence=conditional | %{passed}
// RUN: %{run} --entry=earlier --target=sm_90a --level=tile --recurrence=lazy | %{passed}

// Some rows see nothing else: all keys have the same weight.
// RUN: %{run} --entry=rows --target=sm_80 --level=ptx | %{passed}
// RUN: %{run} --entry=rows --target=sm_90a --level=ptx | %{passed}

// Distances times 1e20: one key has all the weight.
// RUN: %{run} --entry=steep --target=sm_80 --level=ptx | %{passed}
// RUN: %{run} --entry=steep --target=sm_90a --level=ptx | %{passed}

// DEFINE: %{gradients} = FileCheck %s --check-prefix=GRADIENTS
// GRADIENTS: dq {{.*}} passed
// GRADIENTS-NEXT: dk {{.*}} passed
// GRADIENTS-NEXT: dv {{.*}} passed
// RUN: %{run} --entry=backward --target=sm_80 --level=tile | %{gradients}
// RUN: %{run} --entry=backward --target=sm_80 --level=ptx | %{gradients}
// RUN: %{run} --entry=backward --target=sm_90a --level=warp | %{gradients}
// RUN: %{run} --entry=backward --target=sm_90a --level=ptx | %{gradients}

!q = tensor<?x?x?x64xbf16>
!h = tensor<?x?x?x64xf16>
!lse = tensor<?x?x?xf32>

// Keys that upward loops process last.
func.func @later(%q: !q, %k: !q, %v: !q) -> (!q, !lse) {
  %o, %lse = attn.forward %q, %k, %v score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %sees = arith.cmpi sge, %i, %j : index
      %hidden = arith.constant -1.0e10 : f32
      %r = arith.select %sees, %s, %hidden : f32
      attn.yield %r : f32
    } : !q, !q, !q -> !q, !lse
  return %o, %lse : !q, !lse
}
func.func @later_f16(%q: !h, %k: !h, %v: !h) -> !h {
  %o = attn.forward %q, %k, %v score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %sees = arith.cmpi sge, %i, %j : index
      %hidden = arith.constant -1.0e9 : f32
      %r = arith.select %sees, %s, %hidden : f32
      attn.yield %r : f32
    } : !h, !h, !h -> !h
  return %o : !h
}

// Keys that they process first. The smallest f32 value.
func.func @earlier(%q: !q, %k: !q, %v: !q) -> !q {
  %o = attn.forward %q, %k, %v score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c280 = arith.constant 280 : index
      %sees = arith.cmpi sge, %j, %c280 : index
      %hidden = arith.constant 0xFF7FFFFF : f32
      %r = arith.select %sees, %s, %hidden : f32
      attn.yield %r : f32
    } : !q, !q, !q -> !q
  return %o : !q
}

func.func @rows(%q: !q, %k: !q, %v: !q) -> !q {
  %o = attn.forward %q, %k, %v score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c3 = arith.constant 3 : index
      %c0 = arith.constant 0 : index
      %kind = arith.remui %i, %c3 : index
      %sees = arith.cmpi ne, %kind, %c0 : index
      %hidden = arith.constant -1.0e30 : f32
      %r = arith.select %sees, %s, %hidden : f32
      attn.yield %r : f32
    } : !q, !q, !q -> !q
  return %o : !q
}

func.func @steep(%q: !q, %k: !q, %v: !q) -> !q {
  %o = attn.forward %q, %k, %v score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %steep = arith.constant 1.0e20 : f32
      %distance = arith.subi %i, %j : index
      %number = arith.index_cast %distance : index to i32
      %float = arith.sitofp %number : i32 to f32
      %bias = arith.mulf %float, %steep : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    } : !q, !q, !q -> !q
  return %o : !q
}

// Every third row is one that all keys are hidden from, which counts as one that sees nothing.
func.func @backward(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !lse, %do: !q) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c3 = arith.constant 3 : index
      %c0 = arith.constant 0 : index
      %kind = arith.remui %i, %c3 : index
      %some = arith.cmpi ne, %kind, %c0 : index
      %causal = arith.cmpi sge, %i, %j : index
      %sees = arith.andi %some, %causal : i1
      %hidden = arith.constant -1.0e9 : f32
      %r = arith.select %sees, %s, %hidden : f32
      attn.yield %r : f32
    } : !q, !q, !q, !q, !lse, !q -> !q, !q, !q
  return %dq, %dk, %dv : !q, !q, !q
}
