// A backward pass in which one kernel computes all gradients: an outer loop over
// tiles of keys, roles, wgmma, and dq_accum in memory, which the preprocess kernel
// zeroes and the postprocess kernel rounds; used for targets with wgmma. Against f64, at all levels: rows of keys
// and queries that divide no tile, grouped heads, a mask, a score_mod.
// DEFINE: %{run} = fovea-run --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=140,Skv=150 --check --target=sm_90a
// RUN: %{run} %s --entry=dense --level=tile | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=dense --level=warp --seeds=5 | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=dense --level=ptx | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=capped --level=warp --seeds=5 | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=dense --level=ptx --schedule=stages=1 | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=capped --level=warp --seeds=3 --schedule=stages=1 | FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=capped --level=ptx | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-compile %s --kernel=dense --target=sm_90a --emit=warp | FileCheck %s
// RUN: not fovea-compile %s --kernel=dense --target=sm_80 --schedule=producer_registers=24 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not fovea-compile %s --kernel=dense --target=sm_90a --schedule=producer_registers=24,tile_n=32 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: not fovea-compile %s --kernel=dense --target=sm_90a --schedule=producer_registers=20 2>&1 | FileCheck %s --check-prefix=BUDGET

// All of the next block's probabilities are computed before the wait: the sign of each would be seen.
// RUN: fovea-compile %s --kernel=dense --target=sm_90a | FileCheck %s --check-prefix=ABOVE
// ABOVE-LABEL: .entry dense(
// ABOVE: lop3.b32 s, s, %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, 0xFE;
// ABOVE: @p st.volatile.shared.u32
// Persistent CTAs, and heads that share keys: more tiles than resident CTAs, with each kind of work distribution.
// RUN: fovea-run %s --entry=dense --random=2 --dims=B=2,Hq=4,Hkv=2,Sq=10,Skv=4500 --check --target=sm_90a --level=ptx | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-run %s --entry=dense --random=2 --dims=B=2,Hq=6,Hkv=3,Sq=70,Skv=390 --check --target=sm_90a --level=warp --schedule=work=static | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-run %s --entry=dense --random=2 --dims=B=2,Hq=4,Hkv=2,Sq=10,Skv=4500 --check --target=sm_90a --level=ptx --schedule=work=static,key_stages=1 | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-run %s --entry=dense --random=2 --dims=B=2,Hq=6,Hkv=3,Sq=70,Skv=390 --check --target=sm_90a --level=ptx --schedule=work=single,tile_n=64 | FileCheck %s --check-prefix=NUMBERS

// NUMBERS: dq {{.*}} passed
// NUMBERS-NEXT: dk {{.*}} passed
// NUMBERS-NEXT: dv {{.*}} passed

// CHECK-LABEL: gpu.func @dense(
// CHECK: role @load warps(4) regs(24)
// CHECK: role @compute warps(8) regs(208)
// The first block's probabilities; then, in each iteration, the inputs of dS, the
// next block's scores and dK, its probabilities, and the waits for the accumulators.
// CHECK: warp.dot async "s"
// CHECK: math.exp2
// CHECK: scf.for
// CHECK: warp.local_load {{.*}} tensor<1x128xf32
// CHECK: warp.dot async "dp"
// CHECK: warp.dot async "dv"
// CHECK: warp.dot_wait
// CHECK: warp.local_store "ds"
// CHECK: warp.local_load {{.*}} tensor<1x128xf32
// CHECK: warp.dot async "s"
// CHECK: warp.dot async "dk"
// CHECK: warp.dot_wait
// CHECK: math.exp2
// CHECK: warp.dot_wait {{.*}} above
// CHECK: role @reduce warps(4) regs(72)
// CHECK: warp.dot "dq.0" {{.*}} transpose_a rows(0)
// CHECK: warp.local_store "dq_sum.0" {{.*}} fragments
// CHECK: warp.copy_out async add "dq_sum.0" {{.*}} fragments
// CHECK: warp.dot "dq.1" {{.*}} transpose_a rows(64)
// CHECK: warp.copy_out_wait
// CHECK: warp.local_store "dq_sum.1" {{.*}} fragments
// CHECK: warp.copy_out async add "dq_sum.1" {{.*}} fragments
// CHECK-LABEL: gpu.func @dense_delta(
// CHECK-NOT: warp.dot
// CHECK: tile.store "dq_sum"
// CHECK-LABEL: gpu.func @dense_queries(
// CHECK-NOT: warp.dot
// CHECK: tile.store "dq_out"

// Two kernels on request.
// RUN: fovea-compile %s --kernel=dense --target=sm_90a --schedule=producer_registers=0 --emit=warp | FileCheck %s --check-prefix=TWO
// TWO-LABEL: gpu.func @dense(
// TWO-NOT: role @
// TWO: tile.store "dq_out"

// TARGET: error: schedule has roles ('producer_registers'), which 'sm_80' does not support
// TILE: error: schedule's 'tile_n' must be 64 or 128 with roles ('producer_registers'), found 32
// BUDGET: error: schedule's 'producer_registers' must be a multiple of 8, found 20

!t = tensor<?x?x?x64xbf16>
!rows = tensor<?x?x?xf32>
func.func @dense(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

func.func @capped(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %t = math.tanh %s : f32
      attn.yield %t : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %0 = arith.cmpi sge, %i, %j : index
      attn.yield %0 : i1
    }
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}
