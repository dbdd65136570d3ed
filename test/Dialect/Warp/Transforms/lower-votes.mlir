// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-lower-votes)))' --split-input-file | FileCheck %s

!sums = tensor<64x8xf32, #warp.mma_sync<warps = 4>>
!flags = tensor<64x8xi1, #warp.mma_sync<warps = 4>>
gpu.module @m {
  // A vote, and a branch on it.
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

// -----

!sums = tensor<64x8xf32, #warp.mma_sync<warps = 4>>
!flags = tensor<64x8xi1, #warp.mma_sync<warps = 4>>
gpu.module @m {
  // What the second branch asks is false unless the first is taken: it is asked
  // in there.
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

// -----

!sums = tensor<64x8xf32, #warp.mma_sync<warps = 4>>
!flags = tensor<64x8xi1, #warp.mma_sync<warps = 4>>
gpu.module @m {
  // True without the first branch: asked behind it.
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
