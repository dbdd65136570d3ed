// A score_mod compares what it rounded to bf16: LLVM would compare as bf16, and `setp` of bf16 has no `ftz`, which
// scores need. Minima and maxima that ignore NaN are instructions, not library calls.
// REQUIRES: fovea-run
// DEFINE: %{run} = fovea-run %s --random=1 --check --dims=B=1,Hq=2,Hkv=1,Sq=70,Skv=90
// RUN: %{run} --entry=rounded --target=sm_80 --level=ptx
// RUN: %{run} --entry=rounded --target=sm_90a --level=ptx
// RUN: %{run} --entry=extremes --target=sm_80 --level=ptx
// RUN: %{run} --entry=extremes --target=sm_90a --level=ptx
// RUN: fovea-compile %s --kernel=rounded --target=sm_90a | FileCheck %s --check-prefix=ROUNDED
// RUN: fovea-compile %s --kernel=extremes --target=sm_90a | FileCheck %s --check-prefix=EXTREMES
// ROUNDED-LABEL: .entry rounded(
// ROUNDED: cvt.rn.bf16x2.f32
// ROUNDED-NOT: setp.{{[a-z]+}}.ftz.bf16
// ROUNDED: setp.{{[a-z]+}}.ftz.f32
// ROUNDED-NOT: setp.{{[a-z]+}}.ftz.bf16
// EXTREMES-LABEL: .entry extremes(
// EXTREMES-NOT: call
// EXTREMES: min.ftz.f32
// EXTREMES: max.ftz.f32

!t = tensor<?x?x?x64xbf16>
func.func @rounded(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %t = arith.truncf %s : f32 to bf16
      %e = arith.extf %t : bf16 to f32
      %zero = arith.constant 0.0 : f32
      %none = arith.cmpf oeq, %e, %zero : f32
      %low = arith.constant -1.0 : f32
      %r = arith.select %none, %low, %e : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @extremes(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %high = arith.constant 0.5 : f32
      %least = arith.minnumf %s, %high : f32
      %bottom = arith.constant -0.25 : f32
      %top = arith.constant 2.0 : f32
      %within = math.clampf %least to [%bottom, %top] : f32
      %t = arith.truncf %within : f32 to bf16
      %low = arith.constant -0.5 : bf16
      %most = arith.maxnumf %t, %low : bf16
      %r = arith.extf %most : bf16 to f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
