// Ops that the interpreter does not support are diagnosed with a location.
// RUN: sed 's/\/\/ here/%%bad = memref.load %%b[%%c0, %%c0] : !tile/' %s > %t.load.mlir
// RUN: not fovea-run %t.load.mlir 2>&1 | FileCheck %s --check-prefix=LOAD
// LOAD: error: the interpreter cannot execute 'memref.load' on 'memref<16x16xf16, #warp.shared<row_bytes = 32>>'
// LOAD-NEXT: memref.load

// RUN: sed 's/\/\/ here/%%t = warp.local_load %%b : !tile to tensor<16x16xf16, #tile.reg>/' %s > %t.unwritten.mlir
// RUN: not fovea-run %t.unwritten.mlir 2>&1 | FileCheck %s --check-prefix=UNWRITTEN
// UNWRITTEN: error: reads shared memory that was not written
// UNWRITTEN-NEXT: warp.local_load

// RUN: sed 's/\/\/ here/%%two = arith.constant 2 : i32\nwarp.producer_acquire %%p[%%z, %%two] : !warp.pipeline<1>/' %s > %t.phase.mlir
// RUN: not fovea-run %t.phase.mlir 2>&1 | FileCheck %s --check-prefix=PHASE
// PHASE: error: a phase must be 0 or 1, found 2

// RUN: sed 's/\/\/ here/%%w = warp.next_work %%one : index/' %s > %t.count.mlir
// RUN: not fovea-run %t.count.mlir 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: count must be the number of earlier calls in the CTA, found 1 instead of 0

// RUN: sed 's/\/\/ here/%%w = warp.fetch_work : index\nwarp.finish_work\n%%v = warp.fetch_work : index/' %s > %t.late.mlir
// RUN: not fovea-run %t.late.mlir 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: fetches work after 'warp.finish_work'
// LATE: note: finished here

// RUN: sed 's/\/\/ here/warp.finish_work\nwarp.finish_work/' %s > %t.finish.mlir
// RUN: not fovea-run %t.finish.mlir 2>&1 | FileCheck %s --check-prefix=FINISH
// FINISH: error: the CTA finishes its work twice

// RUN: sed 's/\/\/ here/warp.producer_acquire %%p[%%z, %%z] : !warp.pipeline<1>/' %s > %t.open.mlir
// RUN: not fovea-run %t.open.mlir 2>&1 | FileCheck %s --check-prefix=OPEN
// OPEN: error: stage 0 is acquired and never committed
// OPEN-NEXT: warp.producer_acquire

// RUN: sed 's/\/\/ here/warp.producer_commit %%p[%%z, %%z] : !warp.pipeline<1>/' %s > %t.commit.mlir
// RUN: not fovea-run %t.commit.mlir 2>&1 | FileCheck %s --check-prefix=COMMIT
// COMMIT: error: commits stage 0, which it has not acquired

// RUN: sed 's/\/\/ here/%%yes = arith.constant 1 : i1\n%%q = scf.if %%yes -> !warp.pipeline<1> { scf.yield %%p : !warp.pipeline<1> } else { scf.yield %%p : !warp.pipeline<1> }/' %s > %t.yield.mlir
// RUN: not fovea-run %t.yield.mlir 2>&1 | FileCheck %s --check-prefix=YIELD
// YIELD: error: a pipeline can only be captured by roles or used by acquire, commit, wait and release ops, found 'scf.yield'

// RUN: sed 's/\/\/ here/warp.specialize role @a warps(4) regs(24) { warp.specialize role @b warps(4) regs(24) { warp.return }\nwarp.return }/' %s > %t.nested.mlir
// RUN: not fovea-run %t.nested.mlir 2>&1 | FileCheck %s --check-prefix=NESTED
// NESTED: error: a role cannot have roles of its own

// The program is at the warp level only.
// RUN: not fovea-run --target=sm_80 %s --level=tile 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: error: the program is at warp level; it cannot run at level tile
// RUN: not fovea-run %s --seeds=0 2>&1 | FileCheck %s --check-prefix=SEEDS
// SEEDS: error: --seeds must be positive

!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  gpu.func @f() kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %b = warp.alloc : !tile
    %p = warp.pipeline : !warp.pipeline<1>
    // here
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
