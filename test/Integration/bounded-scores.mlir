// Scores that are bounded have one reference from the start: with rows that see
// nothing, with sinks and dropout, with scores at either bound, on both targets.
// REQUIRES: fovea-run
// DEFINE: %{run} = fovea-run %s --check --random=1 --dims B=2,Hq=2,Hkv=1,Sq=150,Skv=200
// RUN: fovea-opt %s --fovea-to-tile=target=sm_90a | FileCheck %s --implicit-check-not="tile.reduce max"
// CHECK-LABEL: gpu.func @capped
// CHECK: tile.reduce max
// CHECK-LABEL: gpu.func @clamped
// CHECK: tile.reduce max
// CHECK-LABEL: gpu.func @sigmoid
// CHECK: tile.reduce max

// RUN: %{run} --entry=capped --level=tile --target=sm_80 --recurrence=deferred --magnitude=30
// RUN: %{run} --entry=capped --level=tile --target=sm_80 --recurrence=conditional --magnitude=3000
// RUN: %{run} --entry=capped --level=tile --target=sm_80 --recurrence=lazy --magnitude=0.01
// RUN: %{run} --entry=capped --level=warp --target=sm_90a --seeds=2 --magnitude=3000
// RUN: %{run} --entry=capped --level=warp --target=sm_80
// RUN: %{run} --entry=clamped --level=tile --target=sm_90a --magnitude=3000
// RUN: %{run} --entry=clamped --level=warp --target=sm_90a --seeds=2
// RUN: %{run} --entry=clamped --level=warp --target=sm_80 --magnitude=3000
// RUN: %{run} --entry=sigmoid --level=warp --target=sm_90a --seeds=2 --magnitude=30
// RUN: %{run} --entry=sigmoid --level=warp --target=sm_80

!q = tensor<?x?x?x64xbf16>
!o = tensor<?x?x?xf32>

// Caps of 50 leave the least room; the first 20 queries see nothing.
func.func @capped(%q: !q, %k: !q, %v: !q, %sinks: tensor<?xf32>) -> (!q, !o) {
  %o, %lse = attn.forward %q, %k, %v sinks(%sinks : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 50.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %r = arith.mulf %t, %cap : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c20 = arith.constant 20 : index
      %later = arith.addi %j, %c20 : index
      %keep = arith.cmpi sge, %i, %later : index
      attn.yield %keep : i1
    } : !q, !q, !q -> !q, !o
  return %o, %lse : !q, !o
}

// The middle of the bounds is 90.
func.func @clamped(%q: !q, %k: !q, %v: !q) -> (!q, !o) {
  %o, %lse = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %low = arith.constant 60.0 : f32
      %high = arith.constant 120.0 : f32
      %middle = arith.constant 90.0 : f32
      %x = arith.addf %s, %middle : f32
      %y = arith.maximumf %x, %low : f32
      %r = arith.minimumf %y, %high : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c20 = arith.constant 20 : index
      %later = arith.addi %j, %c20 : index
      %keep = arith.cmpi sge, %i, %later : index
      attn.yield %keep : i1
    } : !q, !q, !q -> !q, !o
  return %o, %lse : !q, !o
}

func.func @sigmoid(%q: !q, %k: !q, %v: !q) -> (!q, !o) {
  %o, %lse = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %one = arith.constant 1.0 : f32
      %ten = arith.constant 10.0 : f32
      %n = arith.negf %s : f32
      %e = math.exp %n : f32
      %d = arith.addf %one, %e : f32
      %x = arith.divf %ten, %d : f32
      attn.yield %x : f32
    } : !q, !q, !q -> !q, !o
  return %o, %lse : !q, !o
}
