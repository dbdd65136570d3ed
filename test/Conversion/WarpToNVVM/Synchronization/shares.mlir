// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// The lanes of a warp evaluate 32 groups at a time, for the total and again for the search; a lane
// past the last group evaluates group 0 and counts nothing. Their loads stay in the lane.
// CHECK-LABEL: gpu.func @share
// CHECK: %[[LANE:.*]] = arith.remui
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: arith.cmpi ult
// CHECK: arith.select
// CHECK: llvm.inline_asm {{.*}}ld.global
// CHECK-NOT: nvvm.shfl
// CHECK: scf.yield
// CHECK: nvvm.shfl.sync bfly
// CHECK: scf.while
// CHECK: llvm.inline_asm {{.*}}ld.global
// CHECK-COUNT-5: nvvm.shfl.sync up
// CHECK: %[[VOTES:.*]] = nvvm.vote.sync ballot
// CHECK: llvm.intr.ctpop(%[[VOTES]])
// CHECK: nvvm.shfl.sync idx
gpu.module @m {
  gpu.func @share(%lengths: memref<?xi32>, %out: memref<?xi32>, %count: index, %share: index, %shares: index) kernel {
    %total, %first, %end, %group, %before = tile.take_share %share of %shares over %count
      blocks(%n: index) {
        %length = memref.load %lengths[%n] : memref<?xi32>
        %blocks = arith.index_cast %length : i32 to index
        tile.yield %blocks : index
      }
    %sum = arith.addi %group, %before : index
    %all = arith.addi %sum, %total : index
    %both = arith.addi %all, %end : index
    %zero = arith.constant dense<0> : tensor<16x1xi32, #warp.mma_sync<warps = 1>>
    tile.store %zero, %out[%both] dims [0, -1] : tensor<16x1xi32, #warp.mma_sync<warps = 1>>, memref<?xi32>
    gpu.return
  }
  launch.abi @share target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1>)
    tensors([#launch.tensor<"lengths", read, tensor<?xi32>, ["A"], 4>, #launch.tensor<"out", write, tensor<?xi32>, ["B"], 4>])
    parameters([#launch.memref<"lengths", [0]>, #launch.memref<"out", [0]>, #launch.scalar<"count", index>, #launch.scalar<"share", index>, #launch.scalar<"shares", index>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)

  // All threads store before thread 0 counts, and all learn from a barrier whether it was the last.
  // A workspace becomes a pointer, and the number of CTAs is the grid's size.
  // CHECK-LABEL: gpu.func @arrive
  // CHECK: nvvm.barrier
  // CHECK: llvm.inline_asm has_side_effects "{{.*}}@one atom.acq_rel.gpu.global.inc.u32 before, [$1], $2;{{.*}}barrier.red.or.pred all, 0, 64, last;{{.*}}", "=r,l,r,r,~{memory}"
  // CHECK: launch.abi @arrive
  // CHECK-SAME: #launch.workspace<2048>
  gpu.func @arrive(%counters: memref<512xi32>, %cta: index, %parts: index, %out: memref<?xi32>) kernel {
    %last = tile.arrive %counters[%cta] of %parts : memref<512xi32>
    scf.if %last {
      %zero = arith.constant dense<0> : tensor<32x1xi32, #warp.mma_sync<warps = 2>>
      tile.store %zero, %out[%cta] dims [0, -1] : tensor<32x1xi32, #warp.mma_sync<warps = 2>>, memref<?xi32>
    }
    gpu.return
  }
  launch.abi @arrive target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, warps = 2>)
    tensors([#launch.tensor<"out", write, tensor<?xi32>, ["B"], 4>])
    parameters([#launch.workspace_memref, #launch.scalar<"cta", index>, #launch.scalar<"parts", index>, #launch.memref<"out", [0]>])
    grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
}
