// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// The counters are the last argument, memory that the host keeps zero.
// CHECK: launch.abi @f
// CHECK-SAME: parameters([#launch.workspace<8>])
// CHECK-LABEL: gpu.func @f(
// CHECK-SAME: %[[COUNTERS:.*]]: !llvm.ptr<1>)
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[THREADS:.*]] = arith.constant 256 : i32

// One lane fetches an index, after the initial ones of the CTAs. The others
// receive it by an OR reduction, to which they contribute zeros, and one lane
// sends it. The last CTA to finish resets both counters.
// CHECK: nvvm.setmaxregister decrease
// CHECK: %[[LEADER:.*]] = nvvm.elect.sync -> i1
// CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint %[[COUNTERS]] : !llvm.ptr<1> to i64
// CHECK: %[[MINE:.*]] = llvm.inline_asm has_side_effects "mov.b32 $0, 0;{{.*}}@$2 atom.global.add.u32 $0, [$1+0], 1;", "=&r,l,b,~{memory}" %[[ADDRESS]], %[[LEADER]]
// CHECK: %[[OLD:.*]] = nvvm.redux.sync or %[[MINE]], %{{.*}} : i32 -> i32
// CHECK: %[[DIM:.*]] = gpu.grid_dim x
// CHECK: %[[GRID:.*]] = arith.index_cast %[[DIM]] : index to i32
// CHECK: %[[WORK:.*]] = arith.addi %[[OLD]], %[[GRID]] : i32
// CHECK: llvm.inline_asm has_side_effects "@$2 st.volatile.shared.b32 [$0], $1;", "r,r,b,~{memory}" %{{.*}}, %[[WORK]], %[[LEADER]]
// CHECK: llvm.inline_asm has_side_effects "@$1 mbarrier.arrive
// CHECK: %[[FINISHED:.*]] = llvm.inline_asm has_side_effects "mov.b32 $0, 0;{{.*}}@$2 atom.global.add.u32 $0, [$1+4], 1;"
// CHECK: %[[DONE:.*]] = nvvm.redux.sync or %[[FINISHED]]
// CHECK: %[[COUNT:.*]] = arith.addi %[[DONE]], %[[C1]] : i32
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[COUNT]], %[[GRID]] : i32
// CHECK: scf.if %[[LAST]] {
// CHECK-NEXT: llvm.store %{{.*}}, %[[COUNTERS]] atomic syncscope("device") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
// CHECK-NEXT: %[[ENDED:.*]] = llvm.getelementptr %[[COUNTERS]][1]
// CHECK-NEXT: llvm.store %{{.*}}, %[[ENDED]] atomic syncscope("device") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>

// Barriers 1 and 2 order the two groups; the second group signals the first one
// initially. A received value is warp-uniform.
// CHECK: nvvm.elect.sync
// CHECK: %[[MINE:.*]] = arith.addi %[[GROUP:.*]], %[[C1]] : i32
// CHECK: %[[ISLAST:.*]] = arith.cmpi eq, %[[GROUP]], %[[C1]] : i32
// CHECK: %[[WRAPPED:.*]] = arith.remui %[[MINE]], %[[C2]] : i32
// CHECK: %[[NEXT:.*]] = arith.addi %[[WRAPPED]], %[[C1]] : i32
// CHECK: scf.if %[[ISLAST]] {
// CHECK-NEXT: llvm.inline_asm has_side_effects "bar.arrive $0, 256;", "r,~{memory}" %[[NEXT]]
// CHECK: %[[RAW:.*]] = llvm.inline_asm has_side_effects "ld.volatile.shared.b32 $0, [$1];", "=r,r,~{memory}"
// CHECK: nvvm.shfl.sync idx %{{.*}}, %[[RAW]]
// CHECK: nvvm.barrier id = %[[MINE]] number_of_threads = %[[THREADS]]
// CHECK: llvm.inline_asm has_side_effects "bar.arrive $0, 256;", "r,~{memory}" %[[NEXT]]
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(64)
  gpu.func @f() kernel {
    %p = warp.pipeline offset(0) : !warp.pipeline<1>
    %m = warp.mailbox offset(16) : !warp.mailbox<1>
    %t = warp.turns : !warp.turns<2>
    warp.specialize captures(%p, %m, %t : !warp.pipeline<1>, !warp.mailbox<1>, !warp.turns<2>)
      role @load warps(4) regs(24) {
      ^bb0(%p0: !warp.pipeline<1>, %m0: !warp.mailbox<1>, %t0: !warp.turns<2>):
        %z = arith.constant 0 : i32
        %w = warp.fetch_work : index
        warp.producer_acquire %p0[%z, %z] : !warp.pipeline<1>
        warp.send %w to %m0[%z] : !warp.mailbox<1>
        warp.producer_commit %p0[%z, %z] : !warp.pipeline<1>
        warp.finish_work
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%p1: !warp.pipeline<1>, %m1: !warp.mailbox<1>, %t1: !warp.turns<2>):
        %z = arith.constant 0 : i32
        warp.consumer_wait %p1[%z, %z] : !warp.pipeline<1>
        %w = warp.receive %m1[%z] : !warp.mailbox<1>
        warp.begin_turn %t1 : !warp.turns<2>
        warp.end_turn %t1 : !warp.turns<2>
        warp.return
      }
    gpu.return
  }
}
