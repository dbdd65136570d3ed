// An accumulation that stays outstanding in a loop: o = x x^T n times, n - 1 of
// them in the loop.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy f16 "np.eye(16) * 3"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy --seeds=20
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s
// CHECK: shape 16 16
// CHECK-NEXT: 36 0 0

// The last dot's operands are released by 'await_reads', not before.
// RUN: sed 's/^ *warp.await_reads %%behind.*//' %s > %t.early.mlir
// RUN: not fovea-run %t.early.mlir --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: releases stage 0 while an asynchronous dot may still read it
// EARLY: note: the dot

// The accumulator of a dot cannot be taken by another op.
// RUN: sed 's/^ *warp.await_reads %%behind.*/%%taken = warp.dot_wait %%behind : !warp.pending<!acc>/' %s > %t.taken.mlir
// RUN: not fovea-run %t.taken.mlir --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=TAKEN
// TAKEN: error: waits for an outstanding result that another dot accumulates into
// TAKEN: note: the other dot

// RUN: sed 's/^ *%%r:4 = /scf.for %%j = %%c0 to %%c4 step %%c1 {\n%%d = warp.dot async %%t0, %%t0, %%p0 transpose_b : !tile, !tile, !warp.pending<!acc>\n}\n&/' %s > %t.twice.mlir
// RUN: not fovea-run %t.twice.mlir --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: accumulates into an outstanding result that another op has consumed
// TWICE: note: a dot that accumulates into it

// RUN: sed 's/^ *%%sum = warp.dot_wait.*/%%sum = arith.addf %%zero, %%zero : !acc/' %s > %t.never.mlir
// RUN: not fovea-run %t.never.mlir --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=NEVER
// NEVER: error: the result of an asynchronous dot is never waited for

#reg = #warp.mma_sync<warps = 1>
!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!tiles = memref<2x16x16xf16, #warp.shared<row_bytes = 32>>
!acc = tensor<16x16xf32, #reg>
!p = !warp.pipeline<2>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1>)
    tensors([#launch.tensor<"x", read, tensor<16x16xf16>, ["M", "N"], 16>, #launch.tensor<"o", write, tensor<16x16xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @f(%x: memref<16x16xf16>, %o: memref<16x16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : !acc
    %ring = warp.alloc : !tiles
    %p = warp.pipeline : !p
    %start = warp.begin_sum %zero : !acc
    warp.producer_acquire %p[%z, %z] : !p
    %t0 = warp.stage %ring[%z] : !tiles to !tile
    warp.copy async %x[%c0, %c0] dims [0, 1] to %t0 : memref<16x16xf16> to !tile
    warp.producer_commit %p[%z, %z] : !p
    warp.consumer_wait %p[%z, %z] : !p
    %p0 = warp.dot async %t0, %t0, %start transpose_b : !tile, !tile, !warp.pending<!acc>
    %r:4 = scf.for %i = %c1 to %c4 step %c1 iter_args(%stage = %one, %phase = %z, %before = %p0, %behind = %p0) -> (i32, i32, !warp.pending<!acc>, !warp.pending<!acc>) {
      warp.producer_acquire %p[%stage, %phase] : !p
      %t = warp.stage %ring[%stage] : !tiles to !tile
      warp.copy async %x[%c0, %c0] dims [0, 1] to %t : memref<16x16xf16> to !tile
      warp.producer_commit %p[%stage, %phase] : !p
      warp.consumer_wait %p[%stage, %phase] : !p
      %next = warp.dot async %t, %t, %before transpose_b : !tile, !tile, !warp.pending<!acc>
      warp.await_reads %behind : !warp.pending<!acc>
      %last = arith.xori %stage, %one : i32
      %turned = arith.xori %phase, %stage : i32
      %inverse = arith.xori %phase, %last : i32
      warp.consumer_release %p[%last, %inverse] : !p
      scf.yield %last, %turned, %next, %next : i32, i32, !warp.pending<!acc>, !warp.pending<!acc>
    }
    %sum = warp.dot_wait %r#2 : !warp.pending<!acc>
    %final = arith.xori %r#0, %one : i32
    %phase2 = arith.xori %r#1, %final : i32
    tile.store %sum, %o[%c0, %c0] dims [0, 1] : !acc, memref<16x16xf32>
    gpu.return
  }
}
