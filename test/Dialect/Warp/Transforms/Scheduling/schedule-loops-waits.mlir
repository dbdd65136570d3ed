// Without early steps, the order of the list holds within an iteration: a store runs while the
// dot is outstanding, and the stage that the dot reads is released after its wait.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops)))' --split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: gpu.func @late
// CHECK: warp.consumer_wait %[[A:.*]][
// CHECK-NEXT: %[[ISSUED:.*]] = warp.dot async "dq.0" %[[LEFT:[a-z0-9]+]],
// CHECK-NEXT: %[[SHARE:.*]] = warp.local_load %[[LEFT]]
// CHECK-NEXT: tile.store "share" %[[SHARE]]
// CHECK-NEXT: %[[DONE:.*]] = warp.dot_wait %[[ISSUED]]
// CHECK-NEXT: warp.consumer_release %[[A]][
// CHECK-NEXT: warp.consumer_release %[[OTHER:.*]][
// CHECK-NEXT: tile.store add "dq_sum.0" %[[DONE]]
// The order has no wait for this dot.
// CHECK-NEXT: %[[NEXT:.*]] = warp.dot "dq.1"
// CHECK-NEXT: tile.store add "dq_sum.1" %[[NEXT]]
!out = memref<?x?xf32, strided<[?, 1]>>
!in = memref<?x?xbf16, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!as = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<64x64xbf16, #tile.reg>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @late target("sm_90a") plan(<#warp.wgmma_unit, order = ["dq.0", "share", "dq.0.done", "dq_sum.0", "dq.1"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x?xbf16>, ["M", "K"], 16>, #launch.tensor<"s", write, tensor<?x?xbf16>, ["M", "K"], 16>, #launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"s", [0, 1]>, #launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @late(%A: !in, %S: !in, %C: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %z = arith.constant 0 : i32
    %zero = arith.constant dense<0.0> : !acc
    %buffer = warp.alloc : !as
    %b = warp.alloc : !a
    %p = warp.pipeline "a" : !warp.pipeline<2>
    %o = warp.pipeline "o" : !warp.pipeline<2>
    scf.for %i = %c0 to %c8 step %c1 {
      warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
      %to = warp.stage %buffer[%z] : !as to !a
      warp.copy async "a" %A[%c0, %c0] dims [0, 1] to %to : !in to !a
      warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
      %dq = warp.dot "dq.0" %to, %b, %zero transpose_a : !a, !a, !acc
      %share = warp.local_load %to : !a to !t
      tile.store "share" %share, %S[%c0, %c0] dims [0, 1] : !t, !in
      warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
      warp.consumer_release %o[%z, %z] : !warp.pipeline<2>
      tile.store add "dq_sum.0" %dq, %C[%c0, %c0] dims [0, 1] : !acc, !out
      %other = warp.dot "dq.1" %b, %b, %zero : !a, !a, !acc
      tile.store add "dq_sum.1" %other, %C[%c64, %c0] dims [0, 1] : !acc, !out
    }
    gpu.return
  }
}

// -----

!out = memref<?x?xf32, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  // Stores to the same memory keep their order; additions commute.
  launch.abi @memory target("sm_90a") plan(<#warp.wgmma_unit, order = ["dq.0", "dq.0.done", "second", "first"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @memory(%C: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    scf.for %i = %c0 to %c8 step %c1 {
      %dq = warp.dot "dq.0" %b, %b, %zero : !a, !a, !acc
      // expected-note @+1 {{the other op is here}}
      tile.store "first" %dq, %C[%i, %c0] dims [0, 1] : !acc, !out
      // expected-error @+1 {{the plan's order is illegal: 'second' must run after 'first' of the same iteration, because both access the same memory, but the order lists 'second' before 'first'}}
      tile.store "second" %dq, %C[%c0, %c0] dims [0, 1] : !acc, !out
    }
    gpu.return
  }
}
