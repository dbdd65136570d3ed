// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-async-copies)))' | FileCheck %s

// Two stages: the first is filled before the loop; an iteration waits for its stage, starts the
// copies of the next one, and releases its stage.

// CHECK-LABEL: gpu.func @f
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
!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
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
gpu.module @listed_module {
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
}
