// A program without roles: all threads produce and consume. o = 2 x x^T.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy f16 "np.eye(16) * 3"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy --seeds=20
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s
// CHECK: shape 16 16
// CHECK-NEXT: 18 0 0

// Waiting for the second dot completes the first one, but does not return its
// result.
// RUN: sed 's/^ *%%first = warp.dot_wait %%d0.*/%%first = arith.addf %%zero, %%zero : !acc/' %s > %t.undelivered.mlir
// RUN: not fovea-run %t.undelivered.mlir --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=UNDELIVERED
// UNDELIVERED: error: the result of an asynchronous dot is never waited for
// UNDELIVERED-NEXT: %d0 = warp.dot async

// RUN: sed 's/^ *%%first = warp.dot_wait %%d0/%%first = warp.dot_wait %%d1/' %s > %t.twice.mlir
// RUN: not fovea-run %t.twice.mlir --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: waits for an asynchronous dot for the second time
// TWICE-NEXT: %first = warp.dot_wait

// RUN: sed 's/^ *warp.consumer_wait.*//' %s > %t.unwaited.mlir
// RUN: not fovea-run %t.unwaited.mlir --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=UNWAITED
// UNWAITED: error: reads stage 0 of a pipeline without having waited for it
// UNWAITED-NEXT: %a = warp.local_load

// RUN: sed 's/^ *warp.producer_commit.*//' %s > %t.uncommitted.mlir
// RUN: not fovea-run %t.uncommitted.mlir --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=UNCOMMITTED
// UNCOMMITTED: error: deadlock: the kernel waits until stage 0 is full (use 0), which never happens
// UNCOMMITTED-NEXT: warp.consumer_wait

// RUN: sed 's/^ *warp.copy %%x/warp.copy async %%x/' %s > %t.outside.mlir
// RUN: not fovea-run %t.outside.mlir --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: error: an asynchronous copy must be between the acquire and the commit of a stage

// RUN: sed 's/^ *%%second = warp.dot_wait.*/warp.copy %%x[%%c0, %%c0] dims [0, 1] to %%plain : memref<16x16xf16> to !tile\n&/' %s > %t.overwrite.mlir
// RUN: not fovea-run %t.overwrite.mlir --inputs %t.x.npy 2>&1 | FileCheck %s --check-prefix=OVERWRITE
// OVERWRITE: error: overwrites shared memory that an asynchronous dot may still read
// OVERWRITE-NEXT: warp.copy
// OVERWRITE: note: the dot
// OVERWRITE-NEXT: %d0 = warp.dot async

#reg = #warp.mma_sync<warps = 1>
!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!acc = tensor<16x16xf32, #reg>
gpu.module @m {
  gpu.func @f(%x: memref<16x16xf16>, %o: memref<16x16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %zero = arith.constant dense<0.0> : !acc
    %plain = warp.alloc : !tile
    %staged = warp.alloc : memref<1x16x16xf16, #warp.shared<row_bytes = 32>>
    %p = warp.pipeline : !warp.pipeline<1>
    warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
    %stage = warp.stage %staged[%z] : memref<1x16x16xf16, #warp.shared<row_bytes = 32>> to !tile
    warp.copy async %x[%c0, %c0] dims [0, 1] to %stage : memref<16x16xf16> to !tile
    warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
    warp.copy %x[%c0, %c0] dims [0, 1] to %plain : memref<16x16xf16> to !tile
    warp.consumer_wait %p[%z, %z] : !warp.pipeline<1>
    %a = warp.local_load %stage : !tile to tensor<16x16xf16, #reg>
    %d0 = warp.dot async %a, %plain, %zero transpose_b : tensor<16x16xf16, #reg>, !tile, !acc
    %d1 = warp.dot async %plain, %stage, %zero transpose_b : !tile, !tile, !acc
    %second = warp.dot_wait %d1 : !warp.pending<!acc>
    %first = warp.dot_wait %d0 : !warp.pending<!acc>
    warp.consumer_release %p[%z, %z] : !warp.pipeline<1>
    %sum = arith.addf %first, %second : !acc
    %left = warp.extract_columns %sum from 0 : !acc to tensor<16x8xf32, #reg>
    %right = warp.extract_columns %sum from 8 : !acc to tensor<16x8xf32, #reg>
    %whole = warp.concat_columns %left, %right : tensor<16x8xf32, #reg>, tensor<16x8xf32, #reg> to !acc
    tile.store %whole, %o[%c0, %c0] dims [0, 1] : !acc, memref<16x16xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<16x16xf16>, ["M", "N"], 4>, #launch.tensor<"o", write, tensor<16x16xf32>, ["M", "N"], 4>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
