// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sync-lanes),warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// A stage that is fenced right before its commit is not fenced again: a fence
// waits for all stores of its warp. A stage that is changed after the fence is
// fenced again, and so is one after the fence of another stage.
// CHECK-LABEL: gpu.func @f
// CHECK: stmatrix
// CHECK: nvvm.fence.proxy {{.*}}async.shared
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NOT: nvvm.fence.proxy
// CHECK: mbarrier.arrive.shared::cta
// CHECK: stmatrix
// CHECK: nvvm.fence.proxy {{.*}}async.shared
// CHECK: stmatrix
// CHECK: nvvm.fence.proxy {{.*}}async.shared
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive.shared::cta
// CHECK: nvvm.fence.proxy {{.*}}async.shared
// CHECK: nvvm.fence.proxy {{.*}}async.shared
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive.shared::cta
// CHECK-NOT: nvvm.fence.proxy
!ring = memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>
!stage = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!x = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!p = !warp.pipeline<2>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(65536)
  gpu.func @f() kernel {
    %b = warp.alloc offset(1024) : !ring
    %p = warp.pipeline offset(64) : !p
    warp.specialize captures(%b, %p : !ring, !p)
      role @compute warps(8) regs(208) {
      ^bb0(%b0: !ring, %p0: !p):
        %s = arith.constant 0 : i32
        %other = arith.constant 1 : i32
        %x = arith.constant dense<1.0> : !x
        %stage = warp.stage %b0[%s] : !ring to !stage
        %next = warp.stage %b0[%other] : !ring to !stage
        warp.producer_acquire %p0[%s, %s] : !p
        warp.local_store %x to %stage : !x, !stage
        warp.fence_stores %stage : !stage
        warp.producer_commit %p0[%s, %s] : !p
        warp.producer_acquire %p0[%other, %s] : !p
        warp.local_store %x to %next : !x, !stage
        warp.fence_stores %next : !stage
        warp.local_store %x to %next : !x, !stage
        warp.producer_commit %p0[%other, %s] : !p
        warp.producer_acquire %p0[%s, %other] : !p
        warp.fence_stores %next : !stage
        warp.producer_commit %p0[%s, %other] : !p
        warp.return
      }
      role @reduce warps(4) regs(72) {
      ^bb0(%b0: !ring, %p0: !p):
        %s = arith.constant 0 : i32
        %other = arith.constant 1 : i32
        warp.consumer_wait %p0[%s, %s] : !p
        warp.consumer_release %p0[%s, %s] : !p
        warp.consumer_wait %p0[%other, %s] : !p
        warp.consumer_release %p0[%other, %s] : !p
        warp.consumer_wait %p0[%s, %other] : !p
        warp.return
      }
    gpu.return
  }
}
