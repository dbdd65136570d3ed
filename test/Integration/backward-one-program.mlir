// Gradients in one kernel without roles (sm_80): head dims that are found in parts, whose columns
// two or four warps share, or whose dV has a kernel of its own, lengths that divide no tile, grouped heads, at all levels.
// DEFINE: %{file} = %s
// DEFINE: %{with} =
// DEFINE: %{run} = fovea-run %{file} --entry=causal --random=1 --check --target=sm_80 %{with}
// REDEFINE: %{with} = --dims=B=1,Hq=4,Hkv=2,Sq=130,Skv=97
// RUN: %{run} --level=tile
// RUN: %{run} --level=warp --seed=3
// RUN: %{run} --level=ptx
// REDEFINE: %{with} = --dims=B=1,Hq=1,Hkv=1,Sq=1,Skv=65
// RUN: %{run} --level=ptx
// RUN: sed s/x80x/x192x/g %s > %t.wide.mlir
// REDEFINE: %{file} = %t.wide.mlir
// REDEFINE: %{with} = --dims=B=1,Hq=2,Hkv=1,Sq=70,Skv=130
// RUN: %{run} --level=warp --seed=2
// RUN: %{run} --level=ptx
// RUN: sed s/x80x/x160x/g %s > %t.two.mlir
// REDEFINE: %{file} = %t.two.mlir
// RUN: %{run} --level=ptx --seed=4
// RUN: sed s/x80x/x144x/g %s > %t.odd.mlir
// REDEFINE: %{file} = %t.odd.mlir
// RUN: %{run} --level=ptx --seed=5

// Faults planted at level warp are found: derivatives that are read before they are there, a
// share of dQ that is lost, a stage that is filled while others read it.
// RUN: fovea-compile %s --target=sm_80 --emit=warp -o %t.warp.mlir
// DEFINE: %{planted} = fovea-run %{file} --entry=causal --random=1 --dims=B=1,Hq=2,Hkv=2,Sq=200,Skv=150 --check --reference=%s --seed=1
// REDEFINE: %{file} = %t.warp.mlir
// RUN: %{planted}

// RUN: sed 's/^ *warp.consumer_wait %%1\[.*//' %t.warp.mlir > %t.no-wait.mlir
// REDEFINE: %{file} = %t.no-wait.mlir
// RUN: not %{planted} 2>&1 | FileCheck %s --check-prefix=NO-WAIT
// NO-WAIT: error: {{.*}}reads
// NO-WAIT: warp.dot "dq.0"

// RUN: sed 's/^ *warp.local_store "ds".*//' %t.warp.mlir > %t.no-store.mlir
// REDEFINE: %{file} = %t.no-store.mlir
// RUN: not %{planted} 2>&1 | FileCheck %s --check-prefix=NO-STORE
// NO-STORE: warp.dot "dq.0"

// RUN: sed 's/^ *tile.store add "dq_sum.*//' %t.warp.mlir > %t.no-sum.mlir
// REDEFINE: %{file} = %t.no-sum.mlir
// RUN: not %{planted} 2>&1 | FileCheck %s --check-prefix=NO-SUM
// NO-SUM: dq {{.*}}: FAILED

// RUN: sed 's/^ *warp.consumer_release %%1\[.*//' %t.warp.mlir > %t.no-release.mlir
// REDEFINE: %{file} = %t.no-release.mlir
// RUN: not %{planted} 2>&1 | FileCheck %s --check-prefix=NO-RELEASE
// NO-RELEASE: warp.producer_acquire

// If warps share columns, P is also read after a barrier.
// RUN: fovea-compile %t.wide.mlir --target=sm_80 --emit=warp -o %t.shared.mlir
// DEFINE: %{shared} = fovea-run %{file} --entry=causal --random=1 --dims=B=1,Hq=2,Hkv=2,Sq=200,Skv=150 --check --reference=%t.wide.mlir --seed=1
// REDEFINE: %{file} = %t.shared.mlir
// RUN: %{shared}

// RUN: sed 's/^ *warp.consumer_wait %%3\[.*//' %t.shared.mlir > %t.no-weights.mlir
// REDEFINE: %{file} = %t.no-weights.mlir
// RUN: not %{shared} 2>&1 | FileCheck %s --check-prefix=NO-WEIGHTS
// NO-WEIGHTS: error: {{.*}}reads
// NO-WEIGHTS: warp.dot "dv"
!q = tensor<?x?x?x80xbf16>
!rows = tensor<?x?x?xf32>
func.func @causal(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !rows, %do: !q) -> (!q, !q, !q) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !q, !q, !q, !q, !rows, !q -> !q, !q, !q
  return %0#0, %0#1, %0#2 : !q, !q, !q
}
