// The roles of head dims above 128: a producer, a role for P and dV, a role for dS and dK, a role
// that accumulates dQ; and if dS needs scores, a producer, a role that computes P and dS and
// accumulates dQ, a role for dV, a role for dK. Against f64, at all levels: rows of
// keys and queries that divide no tile, grouped heads, a mask, score_mods whose derivatives need scores
// or not, dropout; head dims with a partial last panel, and unequal ones.
// Up to 128 keys a row of dQ has two summands, so its bits don't depend on the order of tiles.
// DEFINE: %{run} = fovea-run --random=1 --check --target=sm_90a --dims=B=1,Hq=2,Hkv=1
// DEFINE: %{numbers} = FileCheck %s --check-prefix=NUMBERS
// RUN: %{run},Sq=140,Skv=150 %s --entry=dense --level=tile | %{numbers}
// RUN: %{run},Sq=140,Skv=110 %s --entry=dense --level=warp --seeds=5 | %{numbers}
// RUN: %{run},Sq=140,Skv=150 %s --entry=dense --level=ptx | %{numbers}
// RUN: %{run},Sq=140,Skv=150 %s --entry=dense --level=ptx --schedule=stages=1 | %{numbers}
// RUN: %{run},Sq=150,Skv=110 %s --entry=causal --level=warp --seeds=5 | %{numbers}
// RUN: %{run},Sq=150,Skv=200 %s --entry=causal --level=ptx | %{numbers}
// RUN: %{run},Sq=140,Skv=110 %s --entry=biased --level=tile | %{numbers}
// RUN: %{run},Sq=140,Skv=110 %s --entry=biased --level=warp --seeds=5 | %{numbers}
// RUN: %{run},Sq=140,Skv=150 %s --entry=biased --level=ptx | %{numbers}
// RUN: %{run},Sq=140,Skv=110 %s --entry=capped --level=tile | %{numbers}
// RUN: %{run},Sq=140,Skv=110 %s --entry=capped --level=warp --seeds=5 | %{numbers}
// RUN: %{run},Sq=140,Skv=150 %s --entry=capped --level=ptx | %{numbers}
// RUN: %{run},Sq=70,Skv=90 %s --entry=dropped --level=warp --seeds=3 | %{numbers}
// RUN: %{run},Sq=70,Skv=90 %s --entry=dropped --level=ptx | %{numbers}
// RUN: %{run},Sq=70,Skv=90 %s --entry=narrow --level=ptx | %{numbers}
// RUN: sed 's/x208x/x136x/g' %s > %t.mlir && %{run},Sq=70,Skv=90 %t.mlir --entry=dropped --level=ptx | %{numbers}
// dQ contributions that TMA adds through shared memory.
// RUN: %{run},Sq=140,Skv=110 %s --entry=dense --level=warp --seeds=5 --schedule=output=tma | %{numbers}
// RUN: %{run},Sq=140,Skv=150 %s --entry=dense --level=ptx --schedule=output=tma | %{numbers}
// RUN: %{run},Sq=150,Skv=200 %s --entry=causal --level=ptx --schedule=output=tma | %{numbers}
// RUN: %{run},Sq=140,Skv=150 %s --entry=capped --level=ptx --schedule=output=tma | %{numbers}
// RUN: sed "/^func.func @dropped/,/^}/d" %s > %t.fits.mlir
// RUN: fovea-compile %t.fits.mlir --kernel=dense --target=sm_90a --schedule=output=tma | FileCheck %s --check-prefix=COPIED
// COPIED-LABEL: .entry dense(
// COPIED-NOT: red.global
// COPIED: st.shared.v4.b32
// COPIED: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%{{.*}}], [%{{.*}}], 4096;
// Tiles that no query sees, and no queries; fewer keys than the tensors have; blocks that kv_classify tells apart.
// RUN: sed 's/x64xbf16/x256xbf16/g' %S/backward-unseen-keys.mlir > %t.unseen.mlir
// RUN: %{run},Sq=64,Skv=200 %t.unseen.mlir --entry=causal --level=warp --seed=3 | %{numbers}
// RUN: %{run},Sq=64,Skv=200 %t.unseen.mlir --entry=causal --level=ptx | %{numbers}
// RUN: %{run},Sq=0,Skv=100 %t.unseen.mlir --entry=dense --level=ptx | %{numbers}
// RUN: sed 's/x16xbf16/x144xbf16/' %S/backward.mlir > %t.lengths.mlir
// RUN: %python %S/Inputs/run_backward.py fovea-run %t.lengths.mlir lengths %t.d tile:sm_90a,warp:sm_90a,ptx:sm_90a sizes=2,2,1,40,90,144,144 integers=n:70/10 "mask=j < n[b]" element=bf16 tolerance=1e-2 places=30 -- n | FileCheck %s --check-prefix=AGREES
// AGREES-COUNT-3: agrees
// RUN: sed 's/x64xbf16/x256xbf16/g' %S/backward-classified.mlir > %t.documents.mlir
// DEFINE: %{ids} = fovea-run %t.documents.mlir --target=sm_90a --level=tile --random=1 --save-inputs=%t.in --dims=B=1,Hq=2,Hkv=1,Sq=300,Skv=330,capture0.0=300,capture1.0=330
// DEFINE: %{documents} = fovea-run %t.documents.mlir --target=sm_90a --check --inputs %t.in/q.npy %t.in/k.npy %t.in/v.npy %t.in/o.npy %t.in/lse.npy %t.in/do.npy %t.in/capture0.npy %t.in/capture1.npy
// RUN: rm -rf %t.in && %{ids}
// RUN: %python %S/Inputs/summaries.py make %t.in capture0 "np.sort(np.random.default_rng(0).integers(0, 7, shape[0]))" capture1 "np.sort(np.random.default_rng(1).integers(0, 9, shape[0]))"
// RUN: %{documents} --level=warp | %{numbers}
// RUN: %{documents} --level=ptx | %{numbers}
// RUN: fovea-compile %s --kernel=dense --target=sm_90a --emit=warp | FileCheck %s
// RUN: fovea-compile %t.fits.mlir --kernel=capped --target=sm_90a --emit=warp | FileCheck %s --check-prefix=SCORES
// NUMBERS: dq {{.*}} passed
// NUMBERS-NEXT: dk {{.*}} passed
// NUMBERS-NEXT: dv {{.*}} passed

// Weights leave and are multiplied as they are; who reads them back issues dP meanwhile. Parts of dQ: the
// next one is on its way while one is added.
// CHECK-LABEL: gpu.func @dense(
// CHECK: role @load warps(4) regs(24)
// CHECK: role @values warps(4) regs(192)
// CHECK: warp.dot "s"
// CHECK: math.exp2
// CHECK: %[[P:.*]] = arith.truncf
// CHECK: warp.local_store "p" %[[P]]
// CHECK: warp.dot "dv" %[[P]],
// CHECK: tile.store "dv_out"
// CHECK: role @keys warps(4) regs(200)
// CHECK-NOT: math.exp2
// CHECK: warp.local_load
// CHECK: warp.dot "dp"
// CHECK: %[[DS:.*]] = arith.truncf
// CHECK: warp.local_store "ds" %[[DS]]
// CHECK: warp.dot "dk" %[[DS]],
// CHECK: tile.store "dk_out"
// CHECK: role @reduce warps(4) regs(96)
// CHECK: warp.dot async "dq.0" {{.*}} transpose_a columns(0)
// CHECK-NEXT: warp.dot async "dq.1" {{.*}} transpose_a columns(64)
// CHECK-NEXT: warp.dot_wait
// CHECK: tile.store add "dq_sum.0"

// SCORES-LABEL: gpu.func @capped(
// SCORES: role @load warps(4) regs(24)
// SCORES: role @score warps(4) regs(208)
// The first block's scores are outstanding. In each iteration: dP is issued, P is stored while it runs,
// dS is stored; N-chunks of dQ, the next one outstanding while one is added; the next block's scores
// are issued before the wait for the last chunk.
// SCORES: warp.dot async "s"
// SCORES-NOT: math.exp2
// SCORES: scf.for
// SCORES: warp.dot_wait
// SCORES: warp.dot async "dp"
// SCORES: math.exp2
// SCORES: warp.local_store "p"
// SCORES: warp.dot_wait
// SCORES: warp.local_store "ds"
// SCORES: warp.dot async "dq.0" {{.*}} transpose_a columns(0)
// SCORES-NEXT: warp.dot async "dq.1" {{.*}} transpose_a columns(64)
// SCORES-NEXT: warp.dot_wait
// SCORES: tile.store add "dq_sum.0"
// SCORES: warp.dot async "dq.2"
// SCORES: warp.dot async "s"
// SCORES: warp.dot_wait
// SCORES: tile.store add "dq_sum.1"
// SCORES: tile.store add "dq_sum.2"
// SCORES: role @values warps(4) regs(96)
// SCORES: warp.dot "dv"
// SCORES: tile.store "dv_out"
// SCORES: role @keys warps(4) regs(128)
// SCORES: warp.dot "dk"
// SCORES: tile.store "dk_out"

!t = tensor<?x?x?x256xbf16>
!w = tensor<?x?x?x192xbf16>
!v = tensor<?x?x?x128xbf16>
!p = tensor<?x?x?x208xf16>
!n = tensor<?x?x?x64xbf16>
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

func.func @biased(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %d = arith.subi %j, %i : index
      %n = arith.index_cast %d : index to i32
      %f = arith.sitofp %n : i32 to f32
      %c = arith.constant 0.03125 : f32
      %bias = arith.mulf %f, %c : f32
      %0 = arith.addf %s, %bias : f32
      attn.yield %0 : f32
    }
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

func.func @capped(%q: !w, %k: !w, %v: !v, %o: !v, %lse: !rows, %do: !v) -> (!w, !w, !v) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %t = math.tanh %s : f32
      attn.yield %t : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %0 = arith.cmpi sge, %i, %j : index
      attn.yield %0 : i1
    }
    : !w, !w, !v, !v, !rows, !v -> !w, !w, !v
  return %dq, %dk, %dv : !w, !w, !v
}

func.func @dropped(%q: !p, %k: !p, %v: !p, %o: !p, %lse: !rows, %do: !p, %seed: i64, %offset: i64) -> (!p, !p, !p) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do dropout(0.1, %seed, %offset)
    : !p, !p, !p, !p, !rows, !p -> !p, !p, !p
  return %dq, %dk, %dv : !p, !p, !p
}

func.func @narrow(%q: !n, %k: !n, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!n, !n, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do : !n, !n, !t, !t, !rows, !t -> !n, !n, !t
  return %dq, %dk, %dv : !n, !n, !t
}
