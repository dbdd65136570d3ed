// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sync-lanes),warp-to-nvvm,canonicalize,cse))' --split-input-file --verify-diagnostics | FileCheck %s

// Relative positions that one warp produces for others: each lane stores its
// columns, 32 apart, and the warp commits together. A consumer loads those of
// its own elements, ten for 16 rows and 32 columns, and a warp barrier follows
// the loads before one lane releases the stage. There are no shuffles.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[LANE:.*]] = arith.remui
// CHECK: %[[MINE:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[MINE]][32] : {{.*}} f32
// CHECK: %[[THIRD:.*]] = llvm.getelementptr %[[MINE]][64] : {{.*}} f32
// CHECK: llvm.store %{{.*}}, %[[MINE]] {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK: llvm.store %{{.*}}, %[[SECOND]]
// CHECK: llvm.store %{{.*}}, %[[THIRD]]
// CHECK: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive
// CHECK: mbarrier.try_wait
// CHECK: %[[OWN:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
// CHECK: %[[AT1:.*]] = llvm.getelementptr %[[OWN]][1]
// CHECK: %[[AT8:.*]] = llvm.getelementptr %[[OWN]][8]
// CHECK: llvm.load %[[OWN]] {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK: llvm.load %[[AT1]]
// CHECK: llvm.load %[[AT8]]
// CHECK-COUNT-7: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK-NOT: llvm.load
// CHECK: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive
// CHECK-NOT: nvvm.shfl.sync
!tile = memref<1x96xf32, #warp.shared<row_bytes = 128>>
!ring = memref<1x1x96xf32, #warp.shared<row_bytes = 128>>
!p = !warp.pipeline<1>
!o = memref<?x?xf32, strided<[?, 1]>>
#lanes = #warp.lanes
#own = #warp.fragment_diagonals<rows = 64, warps = 4>
#acc = #warp.wgmma<groups = 1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 32, warps = 4, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>])
    parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(1024)
  gpu.func @f(%o: !o) kernel {
    %ring = warp.alloc offset(0) : !ring
    %p = warp.pipeline "diagonals" offset(384) : !p
    warp.specialize captures(%ring, %p, %o : !ring, !p, !o)
      role @idle warps(3) regs(24) {
      ^bb0(%ring0: !ring, %p0: !p, %o0: !o):
        warp.return
      }
      role @diagonals warps(1) regs(24) {
      ^bb0(%ring0: !ring, %p0: !p, %o0: !o):
        %z = arith.constant 0 : i32
        %i = tile.iota dim 1 : tensor<1x96xi32, #lanes>
        %x = arith.sitofp %i : tensor<1x96xi32, #lanes> to tensor<1x96xf32, #lanes>
        %t = warp.stage %ring0[%z] : !ring to !tile
        warp.producer_acquire %p0[%z, %z] : !p
        warp.local_store "diagonals" %x to %t : tensor<1x96xf32, #lanes>, !tile
        warp.producer_commit %p0[%z, %z] : !p
        warp.return
      }
      role @compute warps(4) regs(208) {
      ^bb0(%ring0: !ring, %p0: !p, %o0: !o):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        %t = warp.stage %ring0[%z] : !ring to !tile
        warp.consumer_wait %p0[%z, %z] : !p
        %x = warp.local_load %t : !tile to tensor<1x96xf32, #own>
        warp.consumer_release %p0[%z, %z] : !p
        %d = tile.diagonals %x : tensor<1x96xf32, #own> to tensor<64x32xf32, #acc>
        tile.store %d, %o0[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #acc>, !o
        warp.return
      }
    gpu.return
  }
}

// -----

// Relative positions of other warps' rows.
!o = memref<?x?xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @rows target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @rows(%o: !o) kernel {
    %c0 = arith.constant 0 : index
    %f = arith.constant dense<1.0> : tensor<1x96xf32, #warp.fragment_diagonals<rows = 64, warps = 2>>
    // expected-error@+2 {{expected each lane to hold the relative positions of its elements}}
    // expected-error@+1 {{failed to legalize operation 'tile.diagonals'}}
    %x = tile.diagonals %f : tensor<1x96xf32, #warp.fragment_diagonals<rows = 64, warps = 2>> to tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    tile.store %x, %o[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #warp.mma_sync<warps = 4>>, !o
    gpu.return
  }
}
