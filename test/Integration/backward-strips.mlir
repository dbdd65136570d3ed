// Tiles of 128 keys if both accumulators of 64 keys fill a warp group's registers except for scores: each
// M-chunk of 64 keys has a role, and each role adds some columns of dQ, from the dS of both. Against f64,
// at all levels: rows that divide no tile, so that the second M-chunk is partial or empty;
// grouped heads, masks, unequal head dims, lengths, packed sequences, block-sparse lists, the runtime
// block predicate. A lost addition is detected.
// DEFINE: %{run} = fovea-run --random=1 --check --target=sm_90a --dims=B=1,Hq=2,Hkv=1
// DEFINE: %{numbers} = FileCheck %s --check-prefix=NUMBERS
// RUN: %{run},Sq=140,Skv=300 %s --entry=dense --level=tile | %{numbers}
// RUN: %{run},Sq=140,Skv=150 %s --entry=dense --level=warp --seeds=5 | %{numbers}
// RUN: %{run},Sq=140,Skv=330 %s --entry=dense --level=ptx | %{numbers}
// RUN: %{run},Sq=90,Skv=70 %s --entry=dense --level=ptx --schedule=stages=1 | %{numbers}
// RUN: %{run},Sq=150,Skv=190 %s --entry=causal --level=warp --seeds=5 | %{numbers}
// RUN: %{run},Sq=150,Skv=300 %s --entry=causal --level=ptx | %{numbers}
// RUN: %{run},Sq=0,Skv=100 %s --entry=dense --level=ptx | %{numbers}
// RUN: %{run},Sq=140,Skv=150 %s --entry=unequal --level=tile | %{numbers}
// RUN: %{run},Sq=140,Skv=200 %s --entry=unequal --level=warp --seeds=3 | %{numbers}
// RUN: %{run},Sq=140,Skv=200 %s --entry=unequal --level=ptx | %{numbers}
// Tiles of 64 keys of the same head dims, with a third buffer of queries; the order of sums, and what
// score_mods add, need them.
// RUN: %{run},Sq=140,Skv=150 %s --entry=dense --level=ptx --schedule=tile_m=64,stages=3 | %{numbers}
// RUN: %{run},Sq=140,Skv=150 %s --entry=dense --level=ptx --schedule=output=tma | %{numbers}
// RUN: sed 's/x16xbf16/x144xbf16/' %S/backward.mlir > %t.lengths.mlir
// RUN: %python %S/Inputs/run_backward.py fovea-run %t.lengths.mlir lengths %t.d tile:sm_90a,warp:sm_90a,ptx:sm_90a sizes=2,2,1,40,190,144,144 integers=n:70/140 "mask=j < n[b]" element=bf16 tolerance=1e-2 places=30 -- n | FileCheck %s --check-prefix=AGREES
// AGREES-COUNT-3: agrees
// RUN: sed 's/x64xbf16/x160xbf16/g' %S/backward-unseen-keys.mlir > %t.unseen.mlir
// RUN: %{run},Sq=64,Skv=300 %t.unseen.mlir --entry=causal --level=warp --seed=3 | %{numbers}
// RUN: %{run},Sq=64,Skv=300 %t.unseen.mlir --entry=causal --level=ptx | %{numbers}
// RUN: sed 's/x64xbf16/x160xbf16/g' %S/backward-packed.mlir > %t.packed.mlir
// RUN: fovea-run %t.packed.mlir --check --dims=Hq=4,Hkv=2,Sq=300,Skv=350,N+1=9 --entry=causal --random=1 --level=warp --seeds=3 --target=sm_90a | %{numbers}
// RUN: fovea-run %t.packed.mlir --check --dims=Hq=4,Hkv=2,Sq=300,Skv=350,N+1=9 --entry=causal --random=1 --level=ptx --target=sm_90a | %{numbers}
// RUN: sed 's/x64xbf16/x160xbf16/g' %S/Inputs/backward-blocks.mlir > %t.blocks.mlir
// RUN: fovea-run %t.blocks.mlir --random=1 --check --entry=masked --dims=B=2,Hq=6,Hkv=2,Sq=350,Skv=420,partial_index.3=3 --level=ptx --target=sm_90a | %{numbers}
// RUN: sed 's/x64xbf16/x160xbf16/g' %S/backward-classified.mlir > %t.documents.mlir
// DEFINE: %{ids} = fovea-run %t.documents.mlir --target=sm_90a --level=tile --random=1 --save-inputs=%t.in --dims=B=1,Hq=2,Hkv=1,Sq=300,Skv=330,capture0.0=300,capture1.0=330
// DEFINE: %{documents} = fovea-run %t.documents.mlir --target=sm_90a --check --inputs %t.in/q.npy %t.in/k.npy %t.in/v.npy %t.in/o.npy %t.in/lse.npy %t.in/do.npy %t.in/capture0.npy %t.in/capture1.npy
// RUN: rm -rf %t.in && %{ids}
// RUN: %python %S/Inputs/summaries.py make %t.in capture0 "np.sort(np.random.default_rng(0).integers(0, 7, shape[0]))" capture1 "np.sort(np.random.default_rng(1).integers(0, 9, shape[0]))"
// RUN: %{documents} --level=warp | %{numbers}
// RUN: %{documents} --level=ptx | %{numbers}
// RUN: fovea-compile %s --kernel=dense --target=sm_90a --emit=warp | FileCheck %s
// RUN: fovea-compile %s --kernel=dense --target=sm_90a --emit=warp | sed '/add "dq_sum.1" %[0-9]*#/d' > %t.lost.mlir
// RUN: not fovea-run %t.lost.mlir --reference=%s --entry=dense --random=1 --check --dims=B=1,Hq=2,Hkv=1,Sq=140,Skv=330 | FileCheck %s --check-prefix=LOST
// LOST: dq {{.*}}: FAILED
// NUMBERS: dq {{.*}} passed
// NUMBERS-NEXT: dk {{.*}} passed
// NUMBERS-NEXT: dv {{.*}} passed

// Per-query values are in shared memory once, and both roles read them. After dV's product, P is the
// operand that it read.
// CHECK-LABEL: gpu.func @dense(
// CHECK: role @load warps(4) regs(24)
// CHECK: role @first warps(4) regs(240)
// CHECK: warp.local_load
// CHECK: warp.dot async "s.0"
// The result of the last iteration is added during the scores' product.
// CHECK-NEXT: tile.store add "dq_sum.0"
// CHECK: math.exp2
// CHECK: warp.dot async "dv.0" %[[P:[0-9a-z_]+]],
// CHECK-NEXT: warp.dot_wait {{.*}} held(%[[P]]
// CHECK: warp.dot "dp.0"
// CHECK: warp.local_store "ds.0" %[[DS:[0-9a-z_]+]] to
// CHECK: warp.dot "dk.0" %[[DS]],
// CHECK: warp.dot "dq.2"
// CHECK-NEXT: warp.consumer_wait
// CHECK-NEXT: warp.dot "dq.2"
// CHECK-NEXT: tile.store add "dq_sum.2"
// CHECK: warp.dot "dq.0"
// CHECK: tile.store add "dq_sum.0"
// CHECK: tile.store "dv_out.0"
// CHECK: role @second warps(4) regs(240)
// CHECK: warp.dot async "s.1"
// CHECK-NEXT: tile.store add "dq_sum.1"
// CHECK: warp.local_store "ds.1"
// CHECK: tile.store add "dq_sum.1"
// CHECK: tile.store "dk_out.1"

!t = tensor<?x?x?x160xbf16>
!w = tensor<?x?x?x192xbf16>
!v = tensor<?x?x?x128xbf16>
!rows = tensor<?x?x?xf32>
func.func @dense(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

func.func @causal(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %0 = arith.cmpi sge, %i, %j : index
      attn.yield %0 : i1
    }
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

func.func @unequal(%q: !w, %k: !w, %v: !v, %o: !v, %lse: !rows, %do: !v) -> (!w, !w, !v) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %0 = arith.cmpi sge, %i, %j : index
      attn.yield %0 : i1
    }
    : !w, !w, !v, !v, !rows, !v -> !w, !w, !v
  return %dq, %dk, %dv : !w, !w, !v
}
