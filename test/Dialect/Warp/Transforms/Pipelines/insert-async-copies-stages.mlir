// One or three stages, and several copies in a loop.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-async-copies)))' --split-input-file | FileCheck %s

!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  // One stage: filled before the loop, and refilled for the next iteration as soon as the dot of
  // this one has read it.
  // CHECK-LABEL: gpu.func @one_stage
  // CHECK: %[[RING:.*]] = warp.pipeline : !warp.pipeline<1>
  // CHECK: %[[ANY:.*]] = arith.cmpi slt
  // CHECK: warp.producer_acquire %[[RING]]
  // CHECK: warp.copy async %{{.*}} if(%[[ANY]])
  // CHECK: warp.producer_commit %[[RING]]
  // CHECK: scf.for {{.*}} iter_args({{.*}}, %[[PHASE:.*]] = %{{.*}})
  // CHECK: warp.consumer_wait %[[RING]][%{{.*}}, %[[PHASE]]]
  // CHECK: warp.dot
  // CHECK-NEXT: warp.consumer_release %[[RING]][%{{.*}}, %[[PHASE]]]
  // CHECK: warp.producer_acquire %[[RING]][%{{.*}}, %[[NEXT:.*]]]
  // CHECK: warp.copy async {{.*}} if(
  // CHECK: warp.producer_commit %[[RING]][%{{.*}}, %[[NEXT]]]
  // CHECK: scf.yield
  launch.abi @one_stage target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @one_stage(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %b = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #tile.reg>) {
      warp.copy %k[%j, %c0] dims [0, 1] to %b : !memory to !buffer
      %s = warp.dot %a, %b, %acc transpose_b : tensor<64x32xbf16, #tile.reg>, !buffer, tensor<64x32xf32, #tile.reg>
      scf.yield %s : tensor<64x32xf32, #tile.reg>
    }
    gpu.return
  }

  // The buffer that is read last is filled last, also before the loop, because copies complete in
  // the order of their commits. Two buffers that one dot reads are filled in program order.
  // CHECK-LABEL: gpu.func @order
  // CHECK: warp.copy async "second"
  // CHECK: warp.copy async "first"
  // CHECK: warp.copy async "third"
  // CHECK: scf.for
  // CHECK: warp.dot "one"
  // CHECK: warp.dot "two"
  // CHECK: warp.consumer_release %[[SECOND:.*]][
  // CHECK-NOT: warp.consumer_release
  // CHECK: warp.copy async "second"
  // CHECK: warp.dot "three"
  // CHECK: warp.copy async "first"
  // CHECK: warp.copy async "third"
  // CHECK: scf.yield
  launch.abi @order target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @order(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %zero = arith.constant dense<0.0> : tensor<32x32xf32, #tile.reg>
    %a = warp.alloc : !buffer
    %b = warp.alloc : !buffer
    %c = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<32x32xf32, #tile.reg>) {
      warp.copy "first" %k[%j, %c0] dims [0, 1] to %a : !memory to !buffer
      warp.copy "second" %k[%j, %c0] dims [0, 1] to %b : !memory to !buffer
      warp.copy "third" %k[%j, %c0] dims [0, 1] to %c : !memory to !buffer
      %s = warp.dot "one" %a, %b, %acc transpose_b : !buffer, !buffer, tensor<32x32xf32, #tile.reg>
      %t = warp.dot "two" %b, %b, %s transpose_b : !buffer, !buffer, tensor<32x32xf32, #tile.reg>
      %u = warp.dot "three" %a, %c, %t transpose_b : !buffer, !buffer, tensor<32x32xf32, #tile.reg>
      scf.yield %u : tensor<32x32xf32, #tile.reg>
    }
    gpu.return
  }

  // Three stages: two are filled before the loop, and each iteration prefetches two ahead.
  // CHECK-LABEL: gpu.func @three_stages
  // CHECK: warp.alloc : memref<3x32x32xbf16
  // CHECK: warp.pipeline : !warp.pipeline<3>
  // CHECK-COUNT-2: warp.producer_commit
  // CHECK-NOT: warp.producer_commit
  // CHECK: scf.for
  // CHECK-NEXT: warp.consumer_wait
  // CHECK-NEXT: %[[TWO:.*]] = arith.constant 2 : index
  // CHECK-NEXT: arith.muli %{{.*}}, %[[TWO]]
  // CHECK: warp.producer_commit
  // CHECK-NOT: warp.producer_commit
  launch.abi @three_stages target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 3>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @three_stages(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %b = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #tile.reg>) {
      warp.copy %k[%j, %c0] dims [0, 1] to %b : !memory to !buffer
      %s = warp.dot %a, %b, %acc transpose_b : tensor<64x32xbf16, #tile.reg>, !buffer, tensor<64x32xf32, #tile.reg>
      scf.yield %s : tensor<64x32xf32, #tile.reg>
    }
    gpu.return
  }

  // Two copies: a pipeline each; both are committed after the first wait.
  // CHECK-LABEL: gpu.func @two_copies
  // CHECK-COUNT-2: warp.pipeline
  // CHECK: scf.for
  // CHECK-NEXT: warp.consumer_wait %[[KP:[a-z0-9_]+]][
  // CHECK: warp.producer_commit %[[KP]]
  // CHECK: warp.producer_commit %[[VP:[a-z0-9_]+]]
  // CHECK: warp.dot
  // CHECK-NEXT: warp.consumer_release %[[KP]]
  // CHECK-NEXT: warp.consumer_wait %[[VP]]
  // CHECK: warp.dot
  // CHECK-NEXT: warp.consumer_release %[[VP]]
  launch.abi @two_copies target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @two_copies(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %b = warp.alloc : !buffer
    %b2 = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #tile.reg>) {
      warp.copy %k[%j, %c0] dims [0, 1] to %b : !memory to !buffer
      %s = warp.dot %a, %b, %acc transpose_b : tensor<64x32xbf16, #tile.reg>, !buffer, tensor<64x32xf32, #tile.reg>
      warp.copy %k[%j, %c0] dims [0, 1] to %b2 : !memory to !buffer
      %t = warp.dot %a, %b2, %s transpose_b : tensor<64x32xbf16, #tile.reg>, !buffer, tensor<64x32xf32, #tile.reg>
      scf.yield %t : tensor<64x32xf32, #tile.reg>
    }
    gpu.return
  }
}
