// Dots that stay outstanding through an iteration.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,canonicalize)))' --split-input-file | FileCheck %s

!memory = memref<?x?xbf16, strided<[?, 1]>>
!out = memref<?x?xf32, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!as = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!b = memref<64x128xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x128xf32, #tile.reg>
gpu.module @m {
  // The first dot is issued before the loop. An iteration issues the next dot, which adds to the
  // outstanding one; then the previous dot has read its stages, which are released. The wait
  // follows the loop.
  // CHECK-LABEL: gpu.func @in_flight
  // CHECK: %[[A:.*]] = warp.alloc : memref<2x64x64xbf16
  // CHECK: %[[P:.*]] = warp.pipeline "a"
  // CHECK-DAG: %[[START:.*]] = warp.begin_sum %{{.*}} : tensor<64x128xf32, #tile.reg>
  // CHECK-DAG: warp.producer_acquire %[[P]][%[[S0:.*]], %[[F0:.*]]]
  // CHECK: warp.copy async "a"
  // CHECK: warp.producer_commit %[[P]][%[[S0]], %[[F0]]]
  // CHECK: warp.consumer_wait %[[P]][%[[S0]], %[[F0]]]
  // CHECK: %[[D0:.*]] = warp.dot async "c" %{{.*}}, %{{.*}}, %[[START]] : {{.*}}, !warp.pending<tensor<64x128xf32, #tile.reg>>
  // CHECK-NOT: warp.consumer_release
  // CHECK: %[[SUM:.*]]:{{.*}} = scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[D:[^ ]*]] = %[[D0]],
  // CHECK: warp.producer_acquire %[[P]]
  // CHECK: warp.copy async "a"
  // CHECK: warp.producer_commit %[[P]]
  // CHECK: warp.consumer_wait %[[P]]
  // CHECK: %[[NEXT:.*]] = warp.dot async "c" %{{.*}}, %{{.*}}, %[[D]]
  // CHECK: warp.await_reads %[[LAST:[^ ]*]] : !warp.pending
  // CHECK-NEXT: warp.consumer_release %[[P]]
  // CHECK: scf.yield %[[NEXT]],
  // CHECK: }
  // CHECK: warp.await_reads
  // CHECK-NEXT: warp.consumer_release %[[P]]
  // CHECK: %[[TILE:.*]] = warp.dot_wait %[[SUM]]#0
  // CHECK: tile.store %[[TILE]]
  launch.abi @in_flight target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 128,
       order = ["c" + 1, "*" + 1, "c.read"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x?xbf16>, ["M", "K"], 16>, #launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"c", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @in_flight(%A: !memory, %C: !out, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : !acc
    %buffer = warp.alloc : !as
    %b = warp.alloc : !b
    %p = warp.pipeline "a" : !warp.pipeline<2>
    %most = arith.maxsi %n, %c1 : index
    %sum, %s, %f = scf.for %i = %c0 to %most step %c64 iter_args(%acc = %zero, %stage = %z, %phase = %z) -> (!acc, i32, i32) {
      warp.producer_acquire %p[%stage, %phase] : !warp.pipeline<2>
      %to = warp.stage %buffer[%stage] : !as to !a
      warp.copy async "a" %A[%c0, %i] dims [0, 1] to %to : !memory to !a
      warp.producer_commit %p[%stage, %phase] : !warp.pipeline<2>
      warp.consumer_wait %p[%stage, %phase] : !warp.pipeline<2>
      %from = warp.stage %buffer[%stage] : !as to !a
      %next = warp.dot "c" %from, %b, %acc : !a, !b, !acc
      warp.consumer_release %p[%stage, %phase] : !warp.pipeline<2>
      %other = arith.xori %stage, %one : i32
      %turned = arith.xori %phase, %stage : i32
      scf.yield %next, %other, %turned : !acc, i32, i32
    }
    tile.store %sum, %C[%c0, %c0] dims [0, 1] : !acc, !out
    gpu.return
  }
}

// -----

!out = memref<?x?xf32, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  // Not requested, or a dot with another name: nothing changes.
  // CHECK-LABEL: gpu.func @other
  // CHECK-NOT: warp.begin_sum
  // CHECK: scf.for
  // CHECK: warp.dot "o"
  launch.abi @other target("sm_90a") plan(<#warp.wgmma_unit,
       order = ["c" + 1, "*" + 1, "c.read"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"c", [0, 1]>, #launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @other(%C: !out, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!acc) {
      %next = warp.dot "o" %b, %b, %acc : !a, !a, !acc
      scf.yield %next : !acc
    }
    tile.store %sum, %C[%c0, %c0] dims [0, 1] : !acc, !out
    gpu.return
  }
}
