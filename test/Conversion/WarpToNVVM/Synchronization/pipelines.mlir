// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file | FileCheck %s

// A wait leaves the groups outstanding that were committed after its own.
// CHECK-LABEL: gpu.func @f
// CHECK-NOT: gpu.barrier
// CHECK: nvvm.cp.async.commit.group
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-NEXT: nvvm.cp.async.wait.group 2
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: nvvm.cp.async.wait.group 1
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: {{[^#]}}warp.
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %z = arith.constant 0 : i32
    %p = warp.pipeline : !warp.pipeline<1>
    %r = warp.pipeline : !warp.pipeline<2>
    warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
    warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
    warp.producer_acquire %r[%z, %z] : !warp.pipeline<2>
    warp.producer_commit %r[%z, %z] : !warp.pipeline<2>
    warp.producer_commit %r[%z, %z] : !warp.pipeline<2>
    warp.consumer_wait %p[%z, %z] : !warp.pipeline<1>
    warp.consumer_wait %r[%z, %z] : !warp.pipeline<2>
    warp.consumer_wait %r[%z, %z] : !warp.pipeline<2>
    gpu.return
  }
}

// -----

// A ring of two in a loop: the acquire after the wait needs no barrier, because
// the wait's barrier orders it after the last iteration's reads. The count is
// that within an iteration: the next iteration's stage is committed after the
// wait.
// CHECK-LABEL: gpu.func @f
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.for
// CHECK-NEXT: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-NEXT: }
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %z = arith.constant 0 : i32
    %r = warp.pipeline : !warp.pipeline<2>
    warp.producer_acquire %r[%z, %z] : !warp.pipeline<2>
    warp.producer_commit %r[%z, %z] : !warp.pipeline<2>
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    scf.for %j = %c0 to %n step %c32 {
    warp.consumer_wait %r[%z, %z] : !warp.pipeline<2>
    warp.producer_acquire %r[%z, %z] : !warp.pipeline<2>
    warp.producer_commit %r[%z, %z] : !warp.pipeline<2>
    warp.consumer_release %r[%z, %z] : !warp.pipeline<2>
    }
    gpu.return
  }
}

// -----

// A single stage, filled at the start of an iteration: a barrier precedes it,
// because other threads may still read the stage of the previous iteration.
// CHECK-LABEL: gpu.func @f
// CHECK: scf.for
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-NEXT: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: }
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %z = arith.constant 0 : i32
    %p = warp.pipeline : !warp.pipeline<1>
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    scf.for %j = %c0 to %n step %c32 {
    warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
    warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
    warp.consumer_wait %p[%z, %z] : !warp.pipeline<1>
    warp.consumer_release %p[%z, %z] : !warp.pipeline<1>
    }
    gpu.return
  }
}

// -----

// Stages of the first loop that no wait consumes do not affect the second loop:
// its waits count its own commits.
// CHECK-LABEL: gpu.func @f
// CHECK: scf.for
// CHECK-NEXT: nvvm.cp.async.wait.group 0
// CHECK: nvvm.cp.async.commit.group
// CHECK-NEXT: }
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.for
// CHECK-NEXT: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-NEXT: }
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %z = arith.constant 0 : i32
    %p = warp.pipeline : !warp.pipeline<2>
    %r = warp.pipeline : !warp.pipeline<2>
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
    warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
    scf.for %j = %c0 to %n step %c32 {
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
      warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
      warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
      warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
    }
    warp.producer_acquire %r[%z, %z] : !warp.pipeline<2>
    warp.producer_commit %r[%z, %z] : !warp.pipeline<2>
    scf.for %j = %c0 to %n step %c32 {
      warp.consumer_wait %r[%z, %z] : !warp.pipeline<2>
      warp.producer_acquire %r[%z, %z] : !warp.pipeline<2>
      warp.producer_commit %r[%z, %z] : !warp.pipeline<2>
      warp.consumer_release %r[%z, %z] : !warp.pipeline<2>
    }
    gpu.return
  }
}

// -----

// Stores of threads form no copy group: a wait is a barrier, and leaves the
// copies of the next iteration outstanding. The barrier of the wait for those
// copies orders the reads of the previous iteration before the stores of this
// one.
// CHECK-LABEL: gpu.func @stored
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
// CHECK: nvvm.cp.async.commit.group
// CHECK-NOT: gpu.barrier
// CHECK: llvm.inline_asm {{.*}} "st.shared.b32
// CHECK-NOT: nvvm.cp.async
// CHECK-NOT: nvvm.fence
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: nvvm.ldmatrix
// CHECK-NOT: gpu.barrier
// CHECK: scf.yield
!memory = memref<?x64xbf16, strided<[?, 1]>>
!acc = tensor<64x64xf32, #warp.mma_sync<warps = 4>>
!ring = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!stage = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @stored target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 64>)
    tensors([#launch.tensor<"k", accumulate, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @stored(%k: !memory) kernel {
    %z = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %n = memref.dim %k, %c0 : !memory
    %p = warp.pipeline : !warp.pipeline<2>
    %r = warp.pipeline : !warp.pipeline<2>
    %rows = warp.alloc offset(0) : !ring
    %shared = warp.alloc offset(16384) : !ring
    %zero = arith.constant dense<0.0> : !acc
    warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
    warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
    %sum = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %zero) -> !acc {
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
      warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
      %next = warp.stage %rows[%z] : !ring to !stage
      warp.copy async %k[%j, %c0] dims [0, 1] to %next : !memory to !stage
      warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
      %rounded = arith.truncf %acc : !acc to tensor<64x64xbf16, #warp.mma_sync<warps = 4>>
      warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
      warp.producer_acquire %r[%z, %z] : !warp.pipeline<2>
      %stage = warp.stage %shared[%z] : !ring to !stage
      warp.local_store %rounded to %stage : tensor<64x64xbf16, #warp.mma_sync<warps = 4>>, !stage
      warp.fence_stores %stage : !stage
      warp.producer_commit %r[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %r[%z, %z] : !warp.pipeline<2>
      %more = warp.dot %stage, %stage, %acc transpose_a : !stage, !stage, !acc
      warp.consumer_release %r[%z, %z] : !warp.pipeline<2>
      scf.yield %more : !acc
    }
    %out = arith.truncf %sum : !acc to tensor<64x64xbf16, #warp.mma_sync<warps = 4>>
    tile.store %out, %k[%c0, %c0] dims [0, 1] : tensor<64x64xbf16, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}
