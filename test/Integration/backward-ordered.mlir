// Deterministic gradients with roles: tiles of keys accumulate dQ one after the
// other. Against f64, at all levels: rows of keys and queries that divide no tile,
// grouped heads, tiles that process all blocks, or only those within a window.
// DEFINE: %{run} = fovea-run --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=300,Skv=420 --check --target=sm_90a
// RUN: %{run} %s --entry=dense --level=tile | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=dense --level=warp --seeds=5 | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=window --level=tile | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=window --level=warp --seeds=5 | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=window --level=ptx | FileCheck %s --check-prefix=NUMBERS
// A mask that looks back, with tiles that are left for the end.
// RUN: fovea-run --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=700,Skv=650 --check --target=sm_90a %s --entry=causal --level=tile | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-run --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=700,Skv=650 --check --target=sm_90a %s --entry=causal --level=warp --seeds=3 | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-run --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=700,Skv=650 --check --target=sm_90a %s --entry=causal --level=ptx | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=capped --level=warp --seeds=3 | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=wide --level=warp --seeds=3 | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-run --random=1 --dims=B=2,Hq=2,Hkv=1,Sq=70,Skv=150 --check --target=sm_90a %s --entry=wide --level=ptx | FileCheck %s --check-prefix=NUMBERS
// More CTAs than a GPU runs at a time, which wait for each other in launch order.
// RUN: fovea-run --random=2 --dims=B=2,Hq=4,Hkv=2,Sq=10,Skv=4500 --check --target=sm_90a %s --entry=dense --level=ptx | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-run --random=2 --dims=B=1,Hq=1,Hkv=1,Sq=0,Skv=130 --check --target=sm_90a %s --entry=dense --level=ptx

// NUMBERS: dq {{.*}} passed
// NUMBERS-NEXT: dk {{.*}} passed
// NUMBERS-NEXT: dv {{.*}} passed

// Without a mask a tile's semaphore slot is its index; a window's tiles look theirs up. One warp
// acquires slots, one releases them. The accumulating role waits for the first warp between the
// first N-chunk of dQ and its addition, signals the second after the last chunk is added, and
// adds at most one chunk of the next block before the release.
// RUN: fovea-compile %s --kernel=dense --target=sm_90a --emit=warp | FileCheck %s --check-prefix=DENSE
// DENSE-LABEL: gpu.func @dense(
// DENSE: role @acquire warps(1)
// DENSE: scf.for
// DENSE: tile.semaphore_wait "turn_acquire"
// DENSE: role @release warps(1)
// DENSE: scf.for
// DENSE: tile.semaphore_release "turn_release"
// DENSE: role @reduce
// DENSE: scf.for
// DENSE: warp.dot "dq.0"
// DENSE-NOT: warp.dot
// DENSE: warp.consumer_wait %turn_acquire_pipeline
// DENSE: tile.store add "dq_sum.0"
// DENSE: warp.dot "dq.1"
// DENSE: warp.producer_acquire
// DENSE-NEXT: tile.store add "dq_sum.1"
// DENSE-NEXT: warp.consumer_release
// DENSE-NEXT: warp.sync_lanes async_proxy
// DENSE-NEXT: warp.producer_commit
// DENSE-NOT: gpu.func @dense_turns(
// RUN: fovea-compile %s --kernel=window --target=sm_90a --emit=warp | FileCheck %s --check-prefix=WINDOW
// WINDOW-LABEL: gpu.func @window(
// WINDOW: role @acquire
// WINDOW: scf.for
// WINDOW: memref.load
// WINDOW: tile.semaphore_wait "turn_acquire"
// WINDOW: role @release
// WINDOW: tile.semaphore_release "turn_release"
// WINDOW: role @reduce
// WINDOW-NOT: memref.load
// WINDOW: gpu.func @window_turns(
// WINDOW: scf.for
// WINDOW: tile.scatter

// RUN: not fovea-compile %s --kernel=dense --target=sm_90a --schedule=producer_registers=24,output=tma 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: schedule's 'output' must be direct for deterministic gradients, found tma

// RUN: not fovea-compile %s --kernel=dense --target=sm_90a --schedule=work=static 2>&1 | FileCheck %s --check-prefix=STATIC
// STATIC: error: schedule's 'work' must be single or dynamic for deterministic gradients, found static

// Packed sequences have two kernels, which add nothing up in memory.
// RUN: fovea-compile %s --kernel=packed --target=sm_90a | FileCheck %s --check-prefix=APART
// APART-NOT: {{red.global.add|cp.reduce}}

!t = tensor<?x?x?x128xbf16>
!wide = tensor<?x?x?x256xbf16>
!rows = tensor<?x?x?xf32>
func.func @dense(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
func.func @window(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %distance = arith.subi %i, %j : index
      %c90 = arith.constant 90 : index
      %back = arith.cmpi sge, %i, %j : index
      %near = arith.cmpi slt, %distance, %c90 : index
      %keep = arith.andi %back, %near : i1
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
func.func @causal(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
func.func @capped(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 20.0 : f32
      %x = arith.divf %s, %cap : f32
      %y = math.tanh %x : f32
      %z = arith.mulf %y, %cap : f32
      attn.yield %z : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
func.func @wide(%q: !wide, %k: !wide, %v: !wide, %o: !wide, %lse: !rows, %do: !wide) -> (!wide, !wide, !wide) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 20.0 : f32
      %x = arith.divf %s, %cap : f32
      %y = math.tanh %x : f32
      %z = arith.mulf %y, %cap : f32
      attn.yield %z : f32
    } : !wide, !wide, !wide, !wide, !rows, !wide -> !wide, !wide, !wide
  return %0#0, %0#1, %0#2 : !wide, !wide, !wide
}
!n = tensor<?xi32>
!flat = tensor<1x?x?x128xbf16>
!flat_rows = tensor<1x?x?xf32>
func.func @packed(%q: !flat, %k: !flat, %v: !flat, %o: !flat, %lse: !flat_rows, %do: !flat, %cu_q: !n, %cu_k: !n) -> (!flat, !flat, !flat) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic packed(%cu_q, %cu_k : !n, !n)
    : !flat, !flat, !flat, !flat, !flat_rows, !flat -> !flat, !flat, !flat
  return %0#0, %0#1, %0#2 : !flat, !flat, !flat
}
