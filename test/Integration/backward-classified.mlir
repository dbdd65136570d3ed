// A tile of keys iterates over the blocks of queries that see it by kv_classify: the
// partial ones, then the full ones; over the last block if none does.
// Documents of all lengths, sorted; more keys than queries; lengths that divide no
// tile, and a tile of which only some keys exist.
// RUN: fovea-opt %s --attn-analyze-mask --attn-to-tile=target=sm_90a | FileCheck %s
// CHECK-LABEL: gpu.func @documents(
// CHECK: tile.ballot
// CHECK: arith.maxsi
// CHECK: tile.for_blocks blocks %{{.*}} masked

// DEFINE: %{ids} = fovea-run %s --target=sm_90a --level=tile --random=1 --save-inputs=%t.in --dims=B=1,Hq=4,Hkv=2
// DEFINE: %{run} = fovea-run %s --target=sm_90a --check --inputs %t.in/q.npy %t.in/k.npy %t.in/v.npy %t.in/o.npy %t.in/lse.npy %t.in/do.npy %t.in/capture0.npy %t.in/capture1.npy
// RUN: rm -rf %t.in && %{ids},Sq=700,Skv=830,capture0.0=700,capture1.0=830
// RUN: %python %S/Inputs/summaries.py make %t.in capture0 "np.sort(np.random.default_rng(0).integers(0, 7, shape[0]))" capture1 "np.sort(np.random.default_rng(1).integers(0, 9, shape[0]))"
// RUN: %{run} --level=tile | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} --level=warp | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} --level=ptx | FileCheck %s --check-prefix=NUMBERS
// RUN: rm -rf %t.in && %{ids},Sq=2100,Skv=128,capture0.0=2100,capture1.0=128
// RUN: %python %S/Inputs/summaries.py make %t.in capture0 "np.arange(shape[0]) // 100" capture1 "np.arange(shape[0]) // 100 + 20"
// RUN: %{run} --level=tile | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} --level=ptx | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: dq {{.*}} passed
// NUMBERS-NEXT: dk {{.*}} passed
// NUMBERS-NEXT: dv {{.*}} passed

!x = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
!t = tensor<?xi32>
func.func @documents(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %ids: !t, %of_keys: !t) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v)
    captures(%ids, %of_keys : !t, !t)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: !t, %u: !t) {
      %x = tensor.extract %t[%i] : !t
      %y = tensor.extract %u[%j] : !t
      %m = arith.cmpi eq, %x, %y : i32
      attn.yield %m : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
