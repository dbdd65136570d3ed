// A block whose reads have a common index is computed by another version than the
// others. Both versions factor the same terms out of the scores: a factor, and the
// terms that a row has in common.
//
// REQUIRES: fovea-run
// DEFINE: %{run} = fovea-run %s --check --random=1 --dims B=1,Hq=2,Hkv=2,Sq=300,Skv=300
// RUN: %{run} --entry=weighted --level=tile --target=sm_80
// RUN: %{run} --entry=weighted --level=warp --target=sm_90a
// RUN: %{run} --entry=scaled --level=tile --target=sm_80
// RUN: %{run} --entry=scaled --level=tile --target=sm_90a
// RUN: %{run} --entry=negated --level=tile --target=sm_80
// RUN: %{run} --entry=negated --level=tile --target=sm_90a
// RUN: %{run} --entry=shared --level=tile --target=sm_80
// RUN: %{run} --entry=shared --level=tile --target=sm_90a

!t = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>
!w = tensor<33xf32>
!g = tensor<2xf32>

// 2 w[c] + s: of the sum's two constants the scores' own is left out.
func.func @weighted(%q: !t, %k: !t, %v: !t, %w: !w) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v captures(%w : !w)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: !w) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %two = arith.constant 2.0 : f32
      %d = arith.subi %i, %j : index
      %low = arith.maxsi %d, %c0 : index
      %n = arith.minsi %low, %c32 : index
      %x = tensor.extract %t[%n] : !w
      %y = arith.mulf %x, %two : f32
      %r = arith.addf %y, %s : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

// (s g[h] + w[c]) / 10: one way has no constant at the scores.
func.func @scaled(%q: !t, %k: !t, %v: !t, %w: !w, %g: !g) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v captures(%w, %g : !w, !g)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: !w, %u: !g) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %tenth = arith.constant 0.1 : f32
      %d = arith.subi %i, %j : index
      %low = arith.maxsi %d, %c0 : index
      %n = arith.minsi %low, %c32 : index
      %x = tensor.extract %t[%n] : !w
      %f = tensor.extract %u[%h] : !g
      %p = arith.mulf %s, %f : f32
      %y = arith.addf %p, %x : f32
      %r = arith.mulf %y, %tenth : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

// w[c] / 10 - s: no positive constant at the scores.
func.func @negated(%q: !t, %k: !t, %v: !t, %w: !w) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v captures(%w : !w)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: !w) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %tenth = arith.constant 0.1 : f32
      %d = arith.subi %i, %j : index
      %low = arith.maxsi %d, %c0 : index
      %n = arith.minsi %low, %c32 : index
      %x = tensor.extract %t[%n] : !w
      %y = arith.mulf %x, %tenth : f32
      %r = arith.subf %y, %s : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

// s + w[c] + tanh(d) + 25 d for d = (i - j) / 100: one version needs d as a tile for the
// function, the other computes that by relative position and d from rows and keys.
func.func @shared(%q: !t, %k: !t, %v: !t, %w: !w) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v captures(%w : !w)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: !w) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %hundredth = arith.constant 0.01 : f32
      %factor = arith.constant 25.0 : f32
      %d = arith.subi %i, %j : index
      %low = arith.maxsi %d, %c0 : index
      %n = arith.minsi %low, %c32 : index
      %x = tensor.extract %t[%n] : !w
      %e = arith.index_cast %d : index to i32
      %f = arith.sitofp %e : i32 to f32
      %g = arith.mulf %f, %hundredth : f32
      %tanh = math.tanh %g : f32
      %ramp = arith.mulf %g, %factor : f32
      %y0 = arith.addf %s, %x : f32
      %y1 = arith.addf %y0, %tanh : f32
      %r = arith.addf %y1, %ramp : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}
