// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file | FileCheck %s

// A wait leaves those groups pending that were committed after its own.
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

// A ring of two in a loop: the acquire behind the wait needs no barrier of its
// own, the wait's orders it after the last iteration's reads. The count is that
// of an iteration: the stage for the next one is committed after the wait.
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

// A single stage, filled at the start of an iteration: a barrier first, since
// others may still read what the iteration before left.
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

// Stages that the first loop filled ahead and nobody waits for are none of the
// second loop's business: its waits count its own commits.
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
