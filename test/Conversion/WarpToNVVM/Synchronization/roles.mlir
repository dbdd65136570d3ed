// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file | FileCheck %s

// Roles are warp-uniform branches on the warp index; budgets go down or up from
// the launch's 168. One warp executes the first role, with an elected lane. In
// the second one thread indices count from 128 on.
// CHECK-LABEL: gpu.func @f
// CHECK-SAME: known_block_size = array<i32: 384, 1, 1>, nvvm.minctasm = 1
// CHECK: %[[ID:.*]] = gpu.thread_id x
// CHECK: %[[THREAD:.*]] = arith.index_cast %[[ID]] : index to i32
// CHECK: %[[OWN:.*]] = arith.divui %[[THREAD]], %{{.*}} : i32
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[OWN]], %{{.*}}
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %{{.*}} : i32
// CHECK: scf.if %[[FIRST]] {
// CHECK: mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.barrier
// CHECK: %[[LOADS:.*]] = arith.cmpi ult, %[[WARP]], %{{.*}} : i32
// CHECK: scf.if %[[LOADS]] {
// CHECK: nvvm.setmaxregister decrease 24
// CHECK-NOT: nvvm.elect.sync
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[WARP]], %{{.*}} : i32
// CHECK-NEXT: scf.if %[[ONE]] {
// CHECK-NEXT: %[[LEADER:.*]] = nvvm.elect.sync
// CHECK: mbarrier.try_wait
// CHECK: "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}" %{{.*}}, %[[LEADER]]
// CHECK: } else {
// CHECK: nvvm.setmaxregister increase 240
// CHECK: %[[MINE:.*]] = arith.subi %[[THREAD]], %c128_i32
// CHECK: arith.andi %[[MINE]], %c255_i32
// CHECK: nvvm.elect.sync
// CHECK-NOT: gpu.thread_id
// CHECK: mbarrier.try_wait
// CHECK-NOT: {{[^#]}}warp.
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x16xf32>, ["S", "D"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(64)
  gpu.func @f(%o: memref<?x16xf32, strided<[?, 1]>>) kernel {
    %p = warp.pipeline offset(0) : !warp.pipeline<1>
    warp.specialize captures(%p, %o : !warp.pipeline<1>, memref<?x16xf32, strided<[?, 1]>>)
      role @load warps(4) regs(24) {
      ^bb0(%p0: !warp.pipeline<1>, %o0: memref<?x16xf32, strided<[?, 1]>>):
        %z = arith.constant 0 : i32
        warp.producer_acquire %p0[%z, %z] : !warp.pipeline<1>
        warp.producer_commit %p0[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%p1: !warp.pipeline<1>, %o1: memref<?x16xf32, strided<[?, 1]>>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.consumer_wait %p1[%z, %z] : !warp.pipeline<1>
        %i = tile.iota dim 0 : tensor<128x1xi32, #warp.wgmma<groups = 2>>
        %b = tile.broadcast %i : tensor<128x1xi32, #warp.wgmma<groups = 2>> to tensor<128x16xi32, #warp.wgmma<groups = 2>>
        %x = arith.sitofp %b : tensor<128x16xi32, #warp.wgmma<groups = 2>> to tensor<128x16xf32, #warp.wgmma<groups = 2>>
        tile.store %x, %o1[%c0, %c0] dims [0, 1] : tensor<128x16xf32, #warp.wgmma<groups = 2>>, memref<?x16xf32, strided<[?, 1]>>
        warp.return
      }
    gpu.return
  }
}

// -----

// A budget equal to the launch's needs no instruction.
// CHECK-LABEL: gpu.func @f
// CHECK-NOT: setmaxregister
// CHECK: gpu.return
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(64)
  gpu.func @f() kernel {
    warp.specialize
      role @a warps(8) regs(168) { warp.return }
      role @b warps(4) regs(168) { warp.return }
    gpu.return
  }
}
