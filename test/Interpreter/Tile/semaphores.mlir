// CTAs append their indices to a list in order: 8 times the old value plus
// their own. As PTX and at the warp level several run concurrently. (If several
// threads held an element of the tile, one thread would read it while another
// writes it.)
// RUN: fovea-run %s --outputs %t.turns.npy %t.list.npy
// RUN: %python %S/../Inputs/npy.py print %t.list.npy | FileCheck %s
// RUN: fovea-run %s --level=warp --target=sm_80 --seeds=5 --outputs %t.turns.npy %t.list.npy
// RUN: %python %S/../Inputs/npy.py print %t.list.npy | FileCheck %s
// RUN: fovea-run %s --level=ptx --target=sm_80 --outputs %t.turns.npy %t.list.npy
// RUN: %python %S/../Inputs/npy.py print %t.list.npy | FileCheck %s
// CHECK: shape 16 16
// CHECK-COUNT-16: {{^}}42798 42798

// The slot that CTA 1 waits for is never released.
// RUN: sed 's/^ *tile.semaphore_release.*//' %s > %t.unreleased.mlir
// RUN: not fovea-run %t.unreleased.mlir 2>&1 | FileCheck %s --check-prefix=UNRELEASED
// UNRELEASED: error: deadlocks on semaphore slot 1: found 0 releases, and CTAs run in grid order
// UNRELEASED-NEXT: tile.semaphore_wait
// UNRELEASED: note: in block 1 of 7

// Nor with a false condition of the release.
// RUN: sed 's/semaphore_release %%turns\[%%c0\]/semaphore_release %%turns[%%c0] if(%%no)/' %s > %t.conditional.mlir
// RUN: not fovea-run %t.conditional.mlir 2>&1 | FileCheck %s --check-prefix=UNRELEASED

// A wait with a false condition has no effect: no CTA waits for the slot.
// RUN: sed 's/for %%number/for %%number if(%%no)/' %s > %t.none.mlir
// RUN: fovea-run %t.none.mlir --outputs %t.turns.npy %t.list.npy

// A slot that another CTA has released already.
// RUN: sed 's/for %%number/for %%zero/' %s > %t.twice.mlir
// RUN: not fovea-run %t.twice.mlir 2>&1 | FileCheck %s --check-prefix=OVER
// OVER: error: semaphore slot 0 is released already: found 1 releases
// RUN: sed 's/for %%number/for %%less/' %s > %t.negative.mlir
// RUN: not fovea-run %t.negative.mlir 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: a semaphore slot must be at least 0, found -1
// RUN: sed 's/semaphore_wait %%turns\[%%c0\]/semaphore_wait %%turns[%%cta]/' %s > %t.outside.mlir
// RUN: not fovea-run %t.outside.mlir 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: error: index 1 of dimension 0 lies outside [0, 1)

!list = tensor<16x16xi32, #tile.reg>
gpu.module @m {
  gpu.func @f(%turns: memref<1xi32>, %list: memref<16x16xi32>) kernel {
    %c0 = arith.constant 0 : index
    %no = arith.constant false
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    %eight = arith.constant dense<8> : !list
    %cta = gpu.block_id x
    %number = arith.index_cast %cta : index to i32
    %less = arith.subi %number, %one : i32
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
