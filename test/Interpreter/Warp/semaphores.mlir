// CTAs of a warp program are interleaved: each waits for its semaphore slot
// while others run.
// RUN: fovea-run %s --seeds=20 --outputs %t.turns.npy %t.list.npy
// RUN: %python %S/../Inputs/npy.py print %t.list.npy | FileCheck %s
// CHECK: shape 16 16
// CHECK-COUNT-16: {{^}}42798 42798

// A deadlock is reported, with the event that each agent waits for.
// RUN: sed 's/^ *tile.semaphore_release.*//' %s > %t.unreleased.mlir
// RUN: not fovea-run %t.unreleased.mlir 2>&1 | FileCheck %s --check-prefix=DEADLOCK
// DEADLOCK: error: deadlock: the kernel waits for semaphore slot {{[1-3]}} with 0 released, which never happens
// DEADLOCK-NEXT: tile.semaphore_wait
// DEADLOCK: note: in block {{[1-3]}} of 7

// Without the wait the order of the lists is arbitrary; the release is too
// early for the next slot.
// RUN: sed 's/for %%number/for %%zero/' %s > %t.twice.mlir
// RUN: not fovea-run %t.twice.mlir 2>&1 | FileCheck %s --check-prefix=OVER
// OVER: error: semaphore slot 0 is released already: found {{[1-6]}} releases

#reg = #warp.mma_sync<warps = 1>
!list = tensor<16x16xi32, #reg>
gpu.module @m {
  gpu.func @f(%turns: memref<1xi32>, %list: memref<16x16xi32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %eight = arith.constant dense<8> : !list
    %pipeline = warp.pipeline : !warp.pipeline<1>
    %cta = gpu.block_id x
    %number = arith.index_cast %cta : index to i32
    %own = tile.broadcast %number : i32 to !list
    tile.semaphore_wait %turns[%c0] for %number : memref<1xi32>
    %before = tile.load %list[%c0, %c0] dims [0, 1] : memref<16x16xi32> to !list
    %more = arith.muli %before, %eight : !list
    %after = arith.addi %more, %own : !list
    tile.store %after, %list[%c0, %c0] dims [0, 1] : !list, memref<16x16xi32>
    tile.semaphore_release %turns[%c0] after(%after : !list) : memref<1xi32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"turns", accumulate, tensor<1xi32>, ["A"], 4>, #launch.tensor<"list", accumulate, tensor<16x16xi32>, ["S", "D"], 4>])
    parameters([#launch.memref<"turns", [0]>, #launch.memref<"list", [0, 1]>])
    grid([] affine_map<() -> (7)>) threads(32) shared_memory(0)
}
