// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sync-lanes),warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// One lane releases a stage for its warp. If lanes have loaded different
// elements of it, a warp barrier precedes the release, after independent
// arithmetic, at the latest at the end of the role's code. No barrier is added
// if one followed the loads.
// CHECK-LABEL: gpu.func @f
// CHECK: nvvm.setmaxregister {{.*}} 208

// Loads right before the release.
// CHECK: mbarrier.try_wait
// CHECK: llvm.load {{.*}} !llvm.ptr<3>
// CHECK: arith.addf
// CHECK: nvvm.bar.warp.sync
// CHECK-NOT: llvm.load
// CHECK: mbarrier.arrive.shared::cta

// Loads in a branch.
// CHECK: mbarrier.try_wait
// CHECK: scf.if
// CHECK: llvm.load {{.*}} !llvm.ptr<3>
// CHECK: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive.shared::cta

// Loads before a store of the role and its fence.
// CHECK: mbarrier.try_wait
// CHECK: llvm.load {{.*}} !llvm.ptr<3>
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.bar.warp.sync
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive.shared::cta

// No loads since the last warp barrier.
// CHECK: mbarrier.try_wait
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive.shared::cta

// The last release of the role.
// CHECK: mbarrier.try_wait
// CHECK: llvm.load {{.*}} !llvm.ptr<3>
// CHECK: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive.shared::cta
// CHECK-NOT: mbarrier
!tile = memref<1x32xf32, #warp.shared<row_bytes = 128>>
!ring = memref<2x1x32xf32, #warp.shared<row_bytes = 128>>
!p = !warp.pipeline<2>
!o = memref<?x?xf32, strided<[?, 1]>>
!rows = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
#lanes = #warp.lanes
#acc = #warp.wgmma<groups = 1>
!x = tensor<1x32xf32, #acc>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 32, warps = 4, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>])
    parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(8192)
  gpu.func @f(%o: !o) kernel {
    %ring = warp.alloc offset(0) : !ring
    %rows = warp.alloc offset(1024) : !rows
    %p = warp.pipeline "numbers" offset(512) : !p
    warp.specialize captures(%ring, %rows, %p, %o : !ring, !rows, !p, !o)
      role @idle warps(3) regs(24) {
      ^bb0(%ring0: !ring, %rows0: !rows, %p0: !p, %o0: !o):
        warp.return
      }
      role @numbers warps(1) regs(24) {
      ^bb0(%ring0: !ring, %rows0: !rows, %p0: !p, %o0: !o):
        %z = arith.constant 0 : i32
        %x = arith.constant dense<1.0> : tensor<1x32xf32, #lanes>
        %t = warp.stage %ring0[%z] : !ring to !tile
        warp.producer_acquire %p0[%z, %z] : !p
        warp.local_store "numbers" %x to %t : tensor<1x32xf32, #lanes>, !tile
        warp.producer_commit %p0[%z, %z] : !p
        warp.return
      }
      role @compute warps(4) regs(208) {
      ^bb0(%ring0: !ring, %rows0: !rows, %p0: !p, %o0: !o):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %n = memref.dim %o0, %c0 : !o
        %true = arith.cmpi sgt, %n, %c0 : index
        %f = arith.constant dense<1.0> : !x
        %b = arith.constant dense<1.0> : tensor<64x32xbf16, #acc>
        %t = warp.stage %ring0[%z] : !ring to !tile
        warp.consumer_wait %p0[%z, %z] : !p
        %x0 = warp.local_load %t : !tile to !x
        warp.consumer_release %p0[%z, %z] : !p
        %y0 = arith.addf %x0, %f : !x
        warp.consumer_wait %p0[%z, %one] : !p
        %x1 = scf.if %true -> (!x) {
          %l = warp.local_load %t : !tile to !x
          scf.yield %l : !x
        } else {
          scf.yield %f : !x
        }
        warp.consumer_release %p0[%z, %one] : !p
        warp.consumer_wait %p0[%z, %z] : !p
        %x2 = warp.local_load %t : !tile to !x
        warp.local_store "rows" %b to %rows0 : tensor<64x32xbf16, #acc>, !rows
        warp.fence_stores %rows0 : !rows
        warp.consumer_release %p0[%z, %z] : !p
        warp.consumer_wait %p0[%z, %one] : !p
        warp.consumer_release %p0[%z, %one] : !p
        %y1 = arith.addf %y0, %x1 : !x
        %y2 = arith.addf %y1, %x2 : !x
        %r = tile.broadcast %y2 : !x to tensor<64x32xf32, #acc>
        tile.store %r, %o0[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #acc>, !o
        warp.consumer_wait %p0[%z, %z] : !p
        %x3 = warp.local_load %t : !tile to !x
        %r3 = tile.broadcast %x3 : !x to tensor<64x32xf32, #acc>
        tile.store %r3, %o0[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #acc>, !o
        warp.consumer_release %p0[%z, %z] : !p
        warp.return
      }
    gpu.return
  }
}
