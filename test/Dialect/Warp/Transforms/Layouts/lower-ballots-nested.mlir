// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-lower-ballots)))' --split-input-file | FileCheck %s

!sums = tensor<64x8xf32, #warp.mma_sync<warps = 4>>
!flags = tensor<64x8xi1, #warp.mma_sync<warps = 4>>
gpu.module @m {
  // The second condition is false unless the first branch is taken: its ballot moves into that
  // branch.
  // CHECK-LABEL: gpu.func @two
  // CHECK: %[[FIRST:.*]] = warp.any
  // CHECK: %[[R:.*]]:3 = scf.if %[[FIRST]] -> ({{.*}}, i1) {
  // CHECK: %[[MOVED:.*]] = arith.cmpf olt
  // CHECK: %[[SECOND:.*]] = warp.any %[[MOVED]]
  // CHECK: scf.yield %{{.*}}, %[[MOVED]], %[[SECOND]]
  // CHECK-NEXT: } else {
  // CHECK: %[[NO:.*]] = arith.constant false
  // CHECK: scf.yield %{{.*}}, %{{.*}}, %[[NO]]
  // CHECK-NEXT: }
  // CHECK-NOT: warp.any
  // CHECK: scf.if %[[R]]#2
  gpu.func @two(%y: f32) kernel {
    %x = arith.constant dense<1.0> : !sums
    %none = arith.constant dense<false> : !flags
    %b = tile.broadcast %y : f32 to !sums
    %c = arith.cmpf ogt, %b, %x : !sums
    %r:2 = tile.if_any %c init(%x, %none : !sums, !flags) : !flags {
    ^bb0(%a: !sums, %f: !flags):
      %n = arith.negf %a : !sums
      %moved = arith.cmpf olt, %n, %b : !sums
      tile.yield %n, %moved : !sums, !flags
    }
    %s = tile.if_any %r#1 init(%r#0 : !sums) : !flags {
    ^bb0(%a: !sums):
      %n = arith.negf %a : !sums
      tile.yield %n : !sums
    }
    %use = arith.addf %s, %s : !sums
    gpu.return
  }
}
