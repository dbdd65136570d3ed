// A score_mod that ignores the score, with wide heads: the dV role reads row constants without a product or a store, so
// only the release itself synchronises its warps. More blocks of queries than stages.
// RUN: fovea-opt %s --attn-differentiate -o %t.mlir
// RUN: fovea-run %t.mlir --random=1 --check --target=sm_90a --level=ptx --dims=B=1,Hq=1,Hkv=1,Sq=200,Skv=12 | FileCheck %s
// RUN: fovea-run %t.mlir --random=1 --check --target=sm_80 --level=ptx --dims=B=1,Hq=1,Hkv=1,Sq=200,Skv=12 | FileCheck %s

// CHECK: dq {{.*}} passed
// CHECK: dk {{.*}} passed
// CHECK: dv {{.*}} passed

!x = tensor<?x?x?x192xf16>
!r = tensor<?x?x?xf32>
func.func @unread(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %n = arith.index_cast %j : index to i32
      %f = arith.sitofp %n : i32 to f32
      attn.yield %f : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
