// Copies become asynchronous, prefetched by one iteration.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-async-copies)))' --split-input-file | FileCheck %s

!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  // Two stages: the first is filled before the loop; an iteration waits for its stage, starts the
  // copies of the next one, and releases its stage.
  // CHECK-LABEL: gpu.func @two_stages
  // CHECK-SAME: %[[K:[a-z0-9]+]]:
  // CHECK: %[[N:.*]] = memref.dim
  // CHECK: %[[RING:.*]] = warp.alloc : memref<2x32x32xbf16, #warp.shared<row_bytes = 64>>
  // CHECK: %[[P:.*]] = warp.pipeline : !warp.pipeline<2>
  // CHECK-NOT: warp.alloc
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK: %[[FIRST:.*]] = arith.addi %c0, %{{.*}} : index
  // CHECK: %[[RUNS:.*]] = arith.cmpi slt, %[[FIRST]], %[[N]]
  // CHECK: warp.producer_acquire %[[P]][%[[S0:.*]], %[[ZERO]]]
  // CHECK: %[[TO:.*]] = warp.stage %[[RING]][%[[S0]]]
  // CHECK: warp.copy async %[[K]][%[[FIRST]], %c0] if(%[[RUNS]]) dims [0, 1] to %[[TO]]
  // CHECK: warp.producer_commit %[[P]][%[[S0]], %[[ZERO]]]
  // CHECK-NOT: warp.producer_acquire
  // CHECK: scf.for %[[J:.*]] = %{{.*}} to %[[N]] step %[[STEP:.*]] iter_args(%[[ACC:.*]] = %{{.*}}, %[[STAGE:.*]] = %[[ZERO]], %[[PHASE:.*]] = %[[ZERO]])
  // CHECK-NEXT: warp.consumer_wait %[[P]][%[[STAGE]], %[[PHASE]]]
  // CHECK: %[[AHEAD:.*]] = arith.muli %[[STEP]], %c1
  // CHECK: %[[NEXT:.*]] = arith.addi %[[J]], %[[AHEAD]]
  // CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[N]]
  // CHECK: %[[WRAPS:.*]] = arith.cmpi sge
  // CHECK: %[[FILLED:.*]] = arith.select %[[WRAPS]]
  // CHECK: %[[FLIP:.*]] = arith.extui %[[WRAPS]]
  // CHECK: %[[NEXT_PHASE:.*]] = arith.xori %[[PHASE]], %[[FLIP]]
  // CHECK: warp.producer_acquire %[[P]][%[[FILLED]], %[[NEXT_PHASE]]]
  // CHECK: %[[TARGET:.*]] = warp.stage %[[RING]][%[[FILLED]]]
  // CHECK: warp.copy async %[[K]][%[[NEXT]], %c0] if(%[[MORE]]) dims [0, 1] to %[[TARGET]]
  // CHECK: warp.producer_commit %[[P]][%[[FILLED]], %[[NEXT_PHASE]]]
  // CHECK: %[[VIEW:.*]] = warp.stage %[[RING]][%[[STAGE]]]
  // CHECK: %[[S:.*]] = warp.dot %{{.*}}, %[[VIEW]], %[[ACC]]
  // CHECK-NEXT: warp.consumer_release %[[P]][%[[STAGE]], %[[PHASE]]]
  // CHECK: scf.yield %[[S]], %{{.*}}, %{{.*}} :
  launch.abi @two_stages target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @two_stages(%k: !memory) kernel {
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

  // Rows from a list are looked up ahead, too.
  // CHECK-LABEL: gpu.func @listed
  // CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x32xbf16, strided<[?, 1]>>, %[[ROWS:[a-z0-9]+]]: memref<?xi32>
  // CHECK: %[[FIRST:.*]] = arith.addi %c0
  // CHECK: %[[R0:.*]] = memref.load %[[ROWS]][%[[FIRST]]]
  // CHECK: %[[I0:.*]] = arith.index_cast %[[R0]]
  // CHECK: warp.copy async %[[K]][%[[I0]], %c0]
  // CHECK: scf.for %[[J:[a-z0-9]+]] =
  // CHECK: %[[NEXT:.*]] = arith.addi %[[J]]
  // CHECK: %[[R1:.*]] = memref.load %[[ROWS]][%[[NEXT]]]
  // CHECK: %[[I1:.*]] = arith.index_cast %[[R1]]
  // CHECK: warp.copy async %[[K]][%[[I1]], %c0]
  launch.abi @listed target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"rows", read, tensor<?xi32>, ["R"], 4>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"rows", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @listed(%k: !memory, %rows: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %rows, %c0 : memref<?xi32>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %b = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x32xf32, #tile.reg>) {
      %number = memref.load %rows[%j] : memref<?xi32>
      %row = arith.index_cast %number : i32 to index
      warp.copy %k[%row, %c0] dims [0, 1] to %b : !memory to !buffer
      %s = warp.dot %a, %b, %acc transpose_b : tensor<64x32xbf16, #tile.reg>, !buffer, tensor<64x32xf32, #tile.reg>
      scf.yield %s : tensor<64x32xf32, #tile.reg>
    }
    gpu.return
  }

  // Outside of loops: one stage that is never released. Shared loads sink to their use, so that
  // later copies start first.
  // CHECK-LABEL: gpu.func @outside_loops
  // CHECK: warp.alloc : memref<1x64x32xbf16
  // CHECK: %[[P:.*]] = warp.pipeline : !warp.pipeline<1>
  // CHECK: warp.producer_acquire %[[P]]
  // CHECK: %[[TO:.*]] = warp.stage
  // CHECK: warp.copy async %{{.*}} to %[[TO]]
  // CHECK: warp.producer_commit %[[P]]
  // CHECK: memref.dim
  // CHECK-NEXT: warp.consumer_wait %[[P]]
  // CHECK-NEXT: %[[VIEW:.*]] = warp.stage
  // CHECK-NEXT: %[[Q:.*]] = warp.local_load %[[VIEW]]
  // CHECK-NEXT: arith.addf %[[Q]], %[[Q]]
  // CHECK-NOT: warp.consumer_release
  launch.abi @outside_loops target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @outside_loops(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %b = warp.alloc : memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    %q = warp.local_load %b : memref<64x32xbf16, #warp.shared<row_bytes = 64>> to tensor<64x32xbf16, #tile.reg>
    %n = memref.dim %k, %c0 : !memory
    %m = arith.addf %q, %q : tensor<64x32xbf16, #tile.reg>
    gpu.return
  }

  // The computation of rows and limit is cloned for the prefetched iterations.
  // CHECK-LABEL: gpu.func @repeated
  // CHECK: %[[N:.*]] = memref.dim
  // CHECK: %[[FIRST:.*]] = arith.addi %c0, %{{.*}} : index
  // CHECK: %[[HALF:.*]] = arith.divui %[[FIRST]], %c32
  // CHECK: %[[END:.*]] = arith.addi %[[HALF]], %[[N]]
  // CHECK: warp.copy async %{{.*}}[%[[FIRST]], %c0] limit(%[[END]]) if
  // CHECK: scf.for {{.*}} {
  // CHECK: arith.muli
  // CHECK: %[[NEXT:.*]] = arith.addi %{{.*}} : index
  // CHECK: %[[HALF2:.*]] = arith.divui %[[NEXT]], %c32
  // CHECK: %[[END2:.*]] = arith.addi %[[HALF2]], %[[N]]
  // CHECK: warp.copy async %{{.*}}[%[[NEXT]], %c0] limit(%[[END2]]) if
  launch.abi @repeated target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @repeated(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %b = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #tile.reg>) {
      %half = arith.divui %j, %c32 : index
      %end = arith.addi %half, %n : index
      warp.copy %k[%j, %c0] limit(%end) dims [0, 1] to %b : !memory to !buffer
      %s = warp.dot %a, %b, %acc transpose_b : tensor<64x32xbf16, #tile.reg>, !buffer, tensor<64x32xf32, #tile.reg>
      scf.yield %s : tensor<64x32xf32, #tile.reg>
    }
    gpu.return
  }
}
