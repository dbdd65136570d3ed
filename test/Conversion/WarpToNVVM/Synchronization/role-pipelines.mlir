// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize))' | FileCheck %s

// A ring of two at byte 64: full barriers at 64 and 72 expect one producer,
// empty ones at 80 and 88 each of 8 warps. Two copies into a stage, 64 rows of
// 128 bytes each, are announced together, after the acquire and the mailbox
// stores of the stage; the barrier itself completes their commit. The pipeline
// without copies gets an arrival.
// CHECK-LABEL: gpu.func @f
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : i32
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i32
// CHECK-DAG: %[[C72:.*]] = arith.constant 72 : i32
// CHECK-DAG: %[[C80:.*]] = arith.constant 80 : i32
// CHECK-DAG: %[[C88:.*]] = arith.constant 88 : i32
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 16384 : i32
// CHECK: arith.addi %{{.*}}, %[[C64]] : i32
// CHECK: llvm.inline_asm has_side_effects "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}" %{{.*}}, %[[C1]]
// CHECK: arith.addi %{{.*}}, %[[C72]] : i32
// CHECK: mbarrier.init{{.*}} %{{.*}}, %[[C1]]
// CHECK: arith.addi %{{.*}}, %[[C80]] : i32
// CHECK: mbarrier.init{{.*}} %{{.*}}, %[[C8]]
// CHECK: arith.addi %{{.*}}, %[[C88]] : i32
// CHECK: mbarrier.init{{.*}} %{{.*}}, %[[C8]]
// CHECK: nvvm.fence.mbarrier.init

// CHECK: nvvm.setmaxregister decrease
// CHECK: %[[PRODUCER:.*]] = nvvm.elect.sync -> i1
// CHECK: scf.for {{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}) -> (i32, i32)
// CHECK: %[[BEFORE:.*]] = arith.xori %[[PHASE]], %[[C1]] : i32
// CHECK: arith.muli %[[STAGE]], %[[C8]] : i32
// CHECK: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;{{.*}}"r,r,~{memory}" %{{.*}}, %[[BEFORE]]
// CHECK: "@$2 st.volatile.shared.b32 [$0], $1;"
// CHECK-NOT: cp.async.bulk
// CHECK: "@$2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;{{.*}} %{{.*}}, %[[BYTES]], %[[PRODUCER]]
// CHECK-NOT: mbarrier.arrive
// CHECK: "@$6 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [$0], [$1, {$2, $3}], [$4], $5;", "r,l,r,r,r,l,b,~{memory}"
// CHECK: cp.async.bulk.tensor.2d
// CHECK: mbarrier.try_wait
// CHECK-NOT: expect_tx
// CHECK: "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}" %{{.*}}, %[[PRODUCER]]
// CHECK: scf.yield

// CHECK: nvvm.setmaxregister increase
// CHECK: %[[LEADER:.*]] = nvvm.elect.sync -> i1
// CHECK: scf.for
// CHECK: mbarrier.try_wait
// CHECK: "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}" %{{.*}}, %[[LEADER]]
// CHECK-NOT: nvvm.elect.sync
// CHECK-NOT: nvvm.cp.async.commit
!memory = memref<?x64xbf16, strided<[?, 1]>>
!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", i32>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(32768)
  gpu.func @f(%k: !memory, %n: i32) kernel {
    %b = warp.alloc offset(1024) : !buffer
    %c = warp.alloc offset(9216) : !buffer
    %p = warp.pipeline offset(64) : !warp.pipeline<2>
    %r = warp.pipeline offset(96) : !warp.pipeline<2>
    %m = warp.mailbox offset(128) : !warp.mailbox<2>
    warp.specialize captures(%k, %b, %c, %p, %r, %n, %m : !memory, !buffer, !buffer, !warp.pipeline<2>, !warp.pipeline<2>, i32, !warp.mailbox<2>)
      role @load warps(4) regs(24) {
      ^bb0(%k0: !memory, %b0: !buffer, %c0: !buffer, %p0: !warp.pipeline<2>, %r0: !warp.pipeline<2>, %n0: i32, %m0: !warp.mailbox<2>):
        %i0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        %o = arith.constant 1 : i32
        scf.for %i = %z to %n0 step %o iter_args(%s = %z, %f = %z) -> (i32, i32) : i32 {
          warp.producer_acquire %p0[%s, %f] : !warp.pipeline<2>
          warp.send %i0 to %m0[%s] : !warp.mailbox<2>
          warp.copy async %k0[%i0, %i0] dims [0, 1] to %b0 : !memory to !buffer
          warp.copy async %k0[%i0, %i0] dims [0, 1] to %c0 : !memory to !buffer
          warp.producer_commit %p0[%s, %f] : !warp.pipeline<2>
          warp.producer_acquire %r0[%s, %f] : !warp.pipeline<2>
          warp.producer_commit %r0[%s, %f] : !warp.pipeline<2>
          %s2 = arith.xori %s, %o : i32
          %f2 = arith.xori %f, %s : i32
          scf.yield %s2, %f2 : i32, i32
        }
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%k1: !memory, %b1: !buffer, %c1: !buffer, %p1: !warp.pipeline<2>, %r1: !warp.pipeline<2>, %n1: i32, %m1: !warp.mailbox<2>):
        %z = arith.constant 0 : i32
        %o = arith.constant 1 : i32
        scf.for %i = %z to %n1 step %o iter_args(%s = %z, %f = %z) -> (i32, i32) : i32 {
          warp.consumer_wait %p1[%s, %f] : !warp.pipeline<2>
          %i1 = warp.receive %m1[%s] : !warp.mailbox<2>
          warp.consumer_release %p1[%s, %f] : !warp.pipeline<2>
          %s2 = arith.xori %s, %o : i32
          %f2 = arith.xori %f, %s : i32
          scf.yield %s2, %f2 : i32, i32
        }
        warp.return
      }
    gpu.return
  }
}
