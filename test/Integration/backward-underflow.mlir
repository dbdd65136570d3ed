// DEFINE: %{run} = fovea-run %s --random=1 --check --dims=B=1,Hq=2,Hkv=1,Sq=150,Skv=200
// RUN: %{run} --target=sm_90a --level=tile
// RUN: %{run} --target=sm_90a --level=ptx
// RUN: %{run} --target=sm_80 --level=ptx

// A key that only queries far away see has weights below the least normal f32.
// Kernels take each of them for 0, and so what they add up to; that is right.
!t = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>
func.func @relative(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %d = arith.subi %i, %j : index
      %di = arith.index_cast %d : index to i32
      %f = arith.sitofp %di : i32 to f32
      %r = arith.addf %s, %f : f32
      attn.yield %r : f32
    } score_gradient(%s: f32, %g: f32, %b: index, %h: index, %i: index, %j: index) {
      attn.yield %g : f32
    } : !t, !t, !t, !t, !l, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}
