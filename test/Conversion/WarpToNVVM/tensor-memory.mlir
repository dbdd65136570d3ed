// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sync-lanes),warp-to-nvvm,canonicalize))' | FileCheck %s

// Warp 1 allocates columns 0 to 127 while thread 0 initialises barriers; the
// address is in the last 16 bytes of shared memory.
// CHECK-LABEL: gpu.func @f
// CHECK-SAME: (%[[RING_STAGE:.*]]: i32, %
// Shared operands of 64 and 128 bytes per row (PTX ISA, shared memory
// descriptor). Bits 32 to 45: eight rows are 512 or 1024 bytes, in units of 16.
// Bits 46 to 48: 0b001. Bits 61 to 63: swizzle of 64 bytes (4) or 128 (2). Bits
// 16 to 29: 1 along columns; panels of 64 rows of 128 bytes otherwise.
// CHECK-DAG: %[[UPPER64:.*]] = arith.constant -9223301530671644672 : i64
// CHECK-DAG: %[[UPPER128:.*]] = arith.constant 4611756662049472512 : i64
// CHECK-DAG: %[[LOWER64:.*]] = arith.constant 65536 : i32
// CHECK-DAG: %[[LOWER128:.*]] = arith.constant 33554432 : i32
// The dots' shapes and types (PTX ISA, instruction descriptor of .kind::f16).
// Bits 4 and 5: f32 sums (1). Bits 7 to 9, 10 to 12: bf16 (1) or f16 (0). Bit
// 16: the second operand is contiguous along its columns. Bits 17 to 22: 64
// columns / 8. Bits 24 to 28: 128 rows / 16.
// CHECK-DAG: %[[SHAPE_BF16:.*]] = arith.constant 135267472 : i32
// CHECK-DAG: %[[SHAPE_F16:.*]] = arith.constant 135331856 : i32
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : i32
// CHECK-DAG: %[[C40:.*]] = arith.constant 40 : i32
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i32
// CHECK-DAG: %[[C128:.*]] = arith.constant 128 : i32
// CHECK-DAG: %[[C256:.*]] = arith.constant 256 : i32
// CHECK-DAG: %[[FALSE:.*]] = arith.constant false
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK-DAG: %[[LANES:.*]] = arith.constant 2097152 : i32
// CHECK-DAG: %[[ADDRESS:.*]] = arith.constant 28752 : i32
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
// CHECK: %[[MINE:.*]] = arith.cmpi eq, %[[WARP]], %[[C1]] : i32
// CHECK-NEXT: scf.if %[[MINE]] {
// CHECK: arith.addi %{{.*}}, %[[ADDRESS]] : i32
// CHECK: nvvm.tcgen05.alloc %{{.*}}, %[[C128]] : !llvm.ptr<3>, i32
// CHECK-NEXT: nvvm.tcgen05.relinquish_alloc_permit
// CHECK-NEXT: nvvm.tcgen05.fence <before>
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.barrier0
// CHECK-NEXT: nvvm.tcgen05.fence <after>
// CHECK: llvm.load
// CHECK-NEXT: %[[TMEM:.*]] = nvvm.shfl.sync idx
// CHECK-NEXT: %[[O:.*]] = arith.addi %[[TMEM]], %[[C64]] : i32

// The softmax role: a warp's lanes are 32 << 16 apart. Loads have completed at
// the end of their text, stores before each arrival.
// CHECK: nvvm.setmaxregister decrease 192
// CHECK: mbarrier.try_wait
// CHECK-NEXT: nvvm.tcgen05.fence <after>
// CHECK-NEXT: %[[LANE:.*]] = arith.muli %[[WARP]], %[[LANES]] : i32
// CHECK-NEXT: %[[LEFT:.*]] = arith.addi %[[TMEM]], %[[LANE]] : i32
// CHECK-NEXT: %[[RIGHT:.*]] = arith.addi %[[LEFT]], %[[C32]] : i32
// CHECK-NEXT: "tcgen05.ld.sync.aligned.32x32b.x32.b32 {$0, $1, {{.*}}, $31}, [$64];\0A\09tcgen05.ld.sync.aligned.32x32b.x32.b32 {$32, {{.*}}, $63}, [$65];\0A\09tcgen05.wait::ld.sync.aligned;", {{.*}} %[[LEFT]], %[[RIGHT]]
// CHECK: mbarrier.try_wait
// CHECK-NEXT: nvvm.tcgen05.fence <after>
// CHECK: nvvm.tcgen05.st %{{.*}}, %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
// CHECK-NEXT: nvvm.tcgen05.wait <store>
// CHECK-NEXT: nvvm.tcgen05.fence <before>
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive
// The next arrival follows the same fence.
// CHECK-NOT: nvvm.tcgen05.fence
// CHECK: mbarrier.arrive

// Two roles share a warp group and one setmaxnreg. Elected threads issue.
// CHECK: nvvm.setmaxregister decrease 48
// CHECK-NOT: nvvm.setmaxregister
// CHECK: %[[LEADER:.*]] = nvvm.elect.sync -> i1
// CHECK: %[[LOWER_V:.*]] = arith.ori %{{.*}}, %[[LOWER128]] : i32
// CHECK: %[[LOWER_Q:.*]] = arith.ori %{{.*}}, %[[LOWER64]] : i32
// CHECK: %[[LOWER_RING:.*]] = arith.ori %{{.*}}, %[[LOWER64]] : i32
// CHECK: mbarrier.try_wait
// CHECK: mbarrier.try_wait
// CHECK-NEXT: nvvm.tcgen05.fence <after>
// A stage of 4096 bytes. Two steps of 32 bytes each; the first one replaces.
// CHECK-NEXT: %[[STAGE:.*]] = arith.muli %[[RING_STAGE]], %[[C256]] : i32
// CHECK-NEXT: %[[LOWER_K:.*]] = arith.addi %[[LOWER_RING]], %[[STAGE]] : i32
// CHECK-NEXT: scf.if %[[LEADER]] {
// CHECK-NEXT: %[[S:.*]] = llvm.inttoptr %[[TMEM]] : i32 to !llvm.ptr<6>
// CHECK-NEXT: arith.extui %[[LOWER_Q]]
// CHECK-NEXT: %[[A:.*]] = arith.ori %{{.*}}, %[[UPPER64]] : i64
// CHECK-NEXT: arith.extui %[[LOWER_K]]
// CHECK-NEXT: %[[B:.*]] = arith.ori %{{.*}}, %[[UPPER64]] : i64
// CHECK-NEXT: nvvm.tcgen05.mma %[[S]], %[[A]], %[[B]], %[[SHAPE_BF16]], %[[FALSE]] {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>}
// CHECK-NEXT: arith.addi %[[LOWER_Q]], %[[C2]] : i32
// CHECK: arith.addi %[[LOWER_K]], %[[C2]] : i32
// CHECK: nvvm.tcgen05.mma %[[S]], {{.*}}, %[[SHAPE_BF16]], %[[TRUE]]
// CHECK-NOT: nvvm.tcgen05.mma
// CHECK: scf.if %[[LEADER]] {
// CHECK: nvvm.tcgen05.commit %{{.*}} : !llvm.ptr<3>
// CHECK: mbarrier.try_wait
// CHECK-NEXT: nvvm.tcgen05.fence <after>
// The first operand is in columns 32 to 63, 8 for each of four steps of 16
// rows of the second one, which are 2048 bytes.
// CHECK-NEXT: scf.if %[[LEADER]] {
// CHECK-NEXT: %[[D:.*]] = llvm.inttoptr %[[O]] : i32 to !llvm.ptr<6>
// CHECK-NEXT: %[[P:.*]] = llvm.inttoptr %{{.*}} : i32 to !llvm.ptr<6>
// CHECK: %[[B:.*]] = arith.ori %{{.*}}, %[[UPPER128]] : i64
// CHECK-NEXT: nvvm.tcgen05.mma %[[D]], %[[P]], %[[B]], %[[SHAPE_F16]], %[[TRUE]]
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[TMEM]], %[[C40]] : i32
// CHECK-NEXT: llvm.inttoptr %[[AT]]
// CHECK-NEXT: arith.addi %[[LOWER_V]], %[[C128]] : i32
// CHECK-COUNT-3: nvvm.tcgen05.mma %[[D]]
// CHECK-NOT: nvvm.tcgen05.mma
// CHECK: scf.if %[[LEADER]] {
// CHECK: nvvm.tcgen05.commit
// CHECK: cp.async.bulk.tensor

// All roles have ended before the warp that allocated frees.
// CHECK: nvvm.tcgen05.fence <before>
// CHECK-NEXT: nvvm.barrier0
// CHECK-NEXT: %[[MINE:.*]] = arith.cmpi eq, %[[WARP]], %[[C1]] : i32
// CHECK-NEXT: scf.if %[[MINE]] {
// CHECK-NEXT: nvvm.tcgen05.fence <after>
// CHECK-NEXT: %[[FREED:.*]] = llvm.inttoptr %[[TMEM]] : i32 to !llvm.ptr<6>
// CHECK-NEXT: nvvm.tcgen05.dealloc %[[FREED]], %[[C128]]
!memory = memref<128x32xbf16>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!ring = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!key = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!value = memref<64x64xf16, #warp.shared<row_bytes = 128>>
!s = memref<128x64xf32, #warp.tmem>
!p = memref<128x64xf16, #warp.tmem>
!score = tensor<128x64xf32, #warp.thread_rows>
!weight = tensor<128x64xf16, #warp.thread_rows>
!one = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, warps = 4>)
    tensors([#launch.tensor<"q", read, tensor<128x32xbf16>, ["M", "N"], 16>]) parameters([#launch.memref<"q", [0, 1]>, #launch.scalar<"stage", i32>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(28768)
  gpu.func @f(%q: !memory, %stage: i32) kernel {
    %qs = warp.alloc offset(0) : !query
    %ks = warp.alloc offset(8192) : !ring
    %vs = warp.alloc offset(16384) : !value
    %s = warp.tmem_alloc column(0) : !s
    %o = warp.tmem_alloc column(64) : !s
    %pq = warp.pipeline offset(24576) : !one
    %ps = warp.pipeline offset(24592) : !one
    %pp = warp.pipeline offset(24608) : !one
    warp.specialize captures(%q, %qs, %ks, %vs, %s, %o, %pq, %ps, %pp, %stage : !memory, !query, !ring, !value, !s, !s, !one, !one, !one, i32)
      role @softmax warps(4) regs(192) {
      ^bb0(%q0: !memory, %qs0: !query, %ks0: !ring, %vs0: !value, %s0: !s, %o0: !s, %pq0: !one, %ps0: !one, %pp0: !one, %stage0: i32):
        %z = arith.constant 0 : i32
        warp.consumer_wait %ps0[%z, %z] : !one
        %x = warp.tmem_load %s0 : !s to !score
        %rounded = arith.truncf %x : !score to !weight
        %p = warp.tmem_view %s0 from 32 : !s to !p
        warp.producer_acquire %pp0[%z, %z] : !one
        warp.tmem_store %rounded to %p : !weight, !p
        warp.producer_commit %pp0[%z, %z] : !one
        warp.consumer_release %ps0[%z, %z] : !one
        warp.return
      }
      role @mma warps(1) regs(48) {
      ^bb0(%q1: !memory, %qs1: !query, %ks1: !ring, %vs1: !value, %s1: !s, %o1: !s, %pq1: !one, %ps1: !one, %pp1: !one, %stage1: i32):
        %z = arith.constant 0 : i32
        %false = arith.constant false
        %true = arith.constant true
        %k = warp.stage %ks1[%stage1] : !ring to !key
        %p = warp.tmem_view %s1 from 32 : !s to !p
        warp.consumer_wait %pq1[%z, %z] : !one
        warp.producer_acquire %ps1[%z, %z] : !one
        warp.dot_into %qs1, %k, %s1 accumulate(%false) transpose_b : !query, !key, !s
        warp.commit_after_dots %ps1[%z, %z] : !one
        warp.consumer_wait %pp1[%z, %z] : !one
        warp.dot_into %p, %vs1, %o1 accumulate(%true) : !p, !value, !s
        warp.release_after_dots %pp1[%z, %z] : !one
        warp.return
      }
      role @load warps(3) regs(48) {
      ^bb0(%q2: !memory, %qs2: !query, %ks2: !ring, %vs2: !value, %s2: !s, %o2: !s, %pq2: !one, %ps2: !one, %pp2: !one, %stage2: i32):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %pq2[%z, %z] : !one
        warp.copy async %q2[%c0, %c0] dims [0, 1] to %qs2 : !memory to !query
        warp.producer_commit %pq2[%z, %z] : !one
        warp.return
      }
    gpu.return
  }
}
