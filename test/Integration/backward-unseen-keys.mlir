// Tiles of keys that no query sees, and no queries at all: roles always process a block,
// for which there must be memory.
// DEFINE: %{run} = fovea-run %s --random=1 --check --target=sm_90a --dims=B=2,Hq=2,Hkv=1,Skv=400
// RUN: %{run},Sq=128 --entry=causal --level=tile | FileCheck %s
// RUN: %{run},Sq=128 --entry=causal --level=warp --seeds=3 | FileCheck %s
// RUN: %{run},Sq=128 --entry=causal --level=ptx | FileCheck %s
// RUN: %{run},Sq=0 --entry=causal --level=tile | FileCheck %s
// RUN: %{run},Sq=0 --entry=causal --level=ptx | FileCheck %s
// RUN: %{run},Sq=0 --entry=dense --level=warp --seeds=3 | FileCheck %s
// RUN: %{run},Sq=0 --entry=dense --level=ptx | FileCheck %s
// CHECK: dq {{.*}} passed
// CHECK-NEXT: dk {{.*}} passed
// CHECK-NEXT: dv {{.*}} passed

!x = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
func.func @causal(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %m = arith.cmpi sge, %i, %j : index
      attn.yield %m : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}

func.func @dense(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v)
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
