// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-lower-ballots)))' --split-input-file | FileCheck %s

!sums = tensor<64x8xf32, #warp.mma_sync<warps = 4>>
!flags = tensor<64x8xi1, #warp.mma_sync<warps = 4>>
gpu.module @m {
  // The flag is true if the first branch is not taken: the ballot stays after it.
  // CHECK-LABEL: gpu.func @outside
  // CHECK: warp.any
  // CHECK-NEXT: %[[R:.*]] = scf.if
  // CHECK-NOT: warp.any
  // CHECK: }
  // CHECK: %[[SECOND:.*]] = warp.any %[[R]]
  // CHECK-NEXT: scf.if %[[SECOND]]
  gpu.func @outside(%y: f32) kernel {
    %x = arith.constant dense<1.0> : !sums
    %b = tile.broadcast %y : f32 to !sums
    %c = arith.cmpf ogt, %b, %x : !sums
    %r = tile.if_any %c init(%c : !flags) : !flags {
    ^bb0(%f: !flags):
      %moved = arith.cmpf olt, %x, %b : !sums
      tile.yield %moved : !flags
    }
    %s = tile.if_any %r init(%x : !sums) : !flags {
    ^bb0(%a: !sums):
      %n = arith.negf %a : !sums
      tile.yield %n : !sums
    }
    %use = arith.addf %s, %s : !sums
    gpu.return
  }
}
