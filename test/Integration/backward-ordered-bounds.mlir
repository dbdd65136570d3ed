// If bounds exclude blocks that may be visible by kv_classify, no tile processes them, and
// no semaphore slot counts them: a tile would deadlock waiting for it.
// RUN: fovea-run %s --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=300,Skv=420 --check --target=sm_90a --level=warp --seeds=3 | FileCheck %s
// RUN: fovea-run %s --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=300,Skv=420 --check --target=sm_90a --level=ptx | FileCheck %s
// CHECK: dq {{.*}} passed
// CHECK: dk {{.*}} passed
// CHECK: dv {{.*}} passed
// RUN: fovea-compile %s --target=sm_90a --emit=tile | FileCheck %s --check-prefix=TURNS
// TURNS-LABEL: gpu.func @behind_turns(
// TURNS: tile.ballot

!t = tensor<?x?x?x64xbf16>
!rows = tensor<?x?x?xf32>
func.func @behind(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %end = arith.addi %i1, %c1 : index
      attn.yield %c0, %c0, %i0, %end : index, index, index, index
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index) {
      %yes = arith.constant true
      %no = arith.constant false
      attn.yield %yes, %no : i1, i1
    }
    query_bounds(%b: index, %h: index, %j0: index, %j1: index) {
      %n = attn.query_length
      attn.yield %j0, %j1, %n, %n : index, index, index, index
    }
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
