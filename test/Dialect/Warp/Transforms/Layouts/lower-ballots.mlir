// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-lower-ballots)))' --split-input-file | FileCheck %s

!sums = tensor<64x8xf32, #warp.mma_sync<warps = 4>>
!flags = tensor<64x8xi1, #warp.mma_sync<warps = 4>>
gpu.module @m {
  // A ballot, and a branch on its result.
  // CHECK-LABEL: gpu.func @one
  // CHECK-DAG: %[[X:.*]] = arith.constant dense<1.0{{.*}}> : tensor<64x8xf32
  // CHECK-DAG: %[[C:.*]] = arith.cmpf
  // CHECK: %[[ANY:.*]] = warp.any %[[C]] : tensor<64x8xi1, #warp.mma_sync<warps = 4>>
  // CHECK: %[[R:.*]] = scf.if %[[ANY]]
  // CHECK: %[[N:.*]] = arith.negf %[[X]]
  // CHECK: scf.yield %[[N]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield %[[X]]
  // CHECK-NEXT: }
  // CHECK: arith.addf %[[R]], %[[R]]
  // CHECK-NOT: tile.if_any
  gpu.func @one(%y: f32) kernel {
    %x = arith.constant dense<1.0> : !sums
    %b = tile.broadcast %y : f32 to !sums
    %c = arith.cmpf ogt, %b, %x : !sums
    %r = tile.if_any %c init(%x : !sums) : !flags {
    ^bb0(%a: !sums):
      %n = arith.negf %a : !sums
      tile.yield %n : !sums
    }
    %use = arith.addf %r, %r : !sums
    gpu.return
  }
}
