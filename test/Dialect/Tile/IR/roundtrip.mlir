// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --mlir-print-op-generic | fovea-opt | FileCheck %s

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>

gpu.module @kernels {
  // CHECK-LABEL: launch.abi @elementary target("sm_80")
  // CHECK-SAME:    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 64, warps = 1, stages = 2>)
  // CHECK-SAME:    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"bias", read, tensor<4x?xf32>, ["H", "S"], 4>])
  // CHECK-SAME:    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"bias", [1, 0]>, #launch.scalar<"n", index>])
  // CHECK-SAME:    grid(["S"] #{{.*}}) threads(32) shared_memory(0)
  launch.abi @elementary target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, warps = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>,
             #launch.tensor<"bias", read, tensor<4x?xf32>, ["H", "S"], 4>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"bias", [1, 0]>, #launch.scalar<"n", index>])
    grid(["S"] affine_map<()[s] -> (s ceildiv 16)>) threads(32) shared_memory(0)

  // CHECK-LABEL: gpu.func @elementary
  // CHECK-SAME:    %[[K:.*]]: memref<?x64xbf16>, %[[BIAS:.*]]: memref<?x4xf32>, %[[N:.*]]: i64
  gpu.func @elementary(%K: memref<?x64xbf16>, %bias: memref<?x4xf32>, %n: i64) kernel {
    // CHECK: %[[C0:.*]] = arith.constant 0
    %c0 = arith.constant 0 : index
    %limit = arith.index_cast %n : i64 to index
    // CHECK: %[[I:.*]] = tile.iota dim 0 : tensor<16x1xi32, #tile.reg>
    %i = tile.iota dim 0 : tensor<16x1xi32, #tile.reg>
    // CHECK: tile.ramp %{{.*}} step %{{.*}} dim 1 : tensor<1x64xf32, #tile.reg>
    %one = arith.constant 1.0 : f32
    %ramp = tile.ramp %one step %one dim 1 : tensor<1x64xf32, #tile.reg>
    // CHECK: %{{.*}}, %{{.*}} = tile.held_rows tensor<16x1xf32, #tile.reg>
    %first, %count = tile.held_rows tensor<16x1xf32, #tile.reg>
    // CHECK: tile.iota dim 1 : tensor<1x64xi64, #tile.reg>
    %j = tile.iota dim 1 : tensor<1x64xi64, #tile.reg>
    // CHECK: %[[KEYS:.*]] = tile.load %[[K]][%[[C0]], %[[C0]]] limit(%{{.*}}) dims [0, 1] : memref<?x64xbf16> to tensor<16x64xbf16, #tile.reg>
    %k = tile.load %K[%c0, %c0] limit(%limit) dims [0, 1] : memref<?x64xbf16> to tensor<16x64xbf16, #tile.reg>
    // CHECK: tile.load %[[K]][%[[C0]], %[[C0]]] dims [-1, 0] : memref<?x64xbf16> to tensor<1x64xbf16, #tile.reg>
    %column = tile.load %K[%c0, %c0] dims [-1, 0] : memref<?x64xbf16> to tensor<1x64xbf16, #tile.reg>
    // CHECK: tile.load %[[K]][%[[C0]], %[[C0]]] dims [0, -1] fold [1, 4] : memref<?x64xbf16> to tensor<16x1xbf16, #tile.reg>
    %folded = tile.load %K[%c0, %c0] dims [0, -1] fold [1, 4] : memref<?x64xbf16> to tensor<16x1xbf16, #tile.reg>
    // CHECK: %[[KEEP:.*]] = arith.constant dense<true> : tensor<16x1xi1, #tile.reg>
    %keep = arith.constant dense<true> : tensor<16x1xi1, #tile.reg>
    // CHECK: tile.gather %[[BIAS]][%[[I]], %[[C0]]] mask(%[[KEEP]] : tensor<16x1xi1, #tile.reg>) : memref<?x4xf32>[tensor<16x1xi32, #tile.reg>, index] to tensor<16x64xf32, #tile.reg>
    %g = tile.gather %bias[%i, %c0] mask(%keep : tensor<16x1xi1, #tile.reg>) : memref<?x4xf32>[tensor<16x1xi32, #tile.reg>, index] to !full
    // CHECK: %[[H:.*]] = tile.gather %[[BIAS]][%[[C0]], %[[C0]]] : memref<?x4xf32>[index, index] to tensor<16x16xf32, #tile.reg>
    %h = tile.gather %bias[%c0, %c0] : memref<?x4xf32>[index, index] to tensor<16x16xf32, #tile.reg>
    // CHECK: %[[S:.*]] = tile.dot %[[KEYS]], %[[KEYS]], %[[H]] transpose_b : tensor<16x64xbf16, #tile.reg>, tensor<16x64xbf16, #tile.reg>, tensor<16x16xf32, #tile.reg>
    %s = tile.dot %k, %k, %h transpose_b : tensor<16x64xbf16, #tile.reg>, tensor<16x64xbf16, #tile.reg>, tensor<16x16xf32, #tile.reg>
    // CHECK: tile.dot %[[S]], %[[H]], %[[S]] : tensor<16x16xf32, #tile.reg>, tensor<16x16xf32, #tile.reg>, tensor<16x16xf32, #tile.reg>
    %t = tile.dot %s, %h, %s : tensor<16x16xf32, #tile.reg>, tensor<16x16xf32, #tile.reg>, tensor<16x16xf32, #tile.reg>
    // CHECK: tile.dot %{{.*}}, %[[KEYS]], %[[H]] columns(48) :
    %s16 = arith.truncf %s : tensor<16x16xf32, #tile.reg> to tensor<16x16xbf16, #tile.reg>
    %part = tile.dot %s16, %k, %h columns(48) : tensor<16x16xbf16, #tile.reg>, tensor<16x64xbf16, #tile.reg>, tensor<16x16xf32, #tile.reg>
    // CHECK: tile.dot %[[KEYS]], %[[KEYS]], %{{.*}} transpose_a rows(32) columns(48) :
    %rows = tile.dot %k, %k, %h transpose_a rows(32) columns(48) : tensor<16x64xbf16, #tile.reg>, tensor<16x64xbf16, #tile.reg>, tensor<16x16xf32, #tile.reg>
    // CHECK: tile.reduce max dim 1 %[[S]] : tensor<16x16xf32, #tile.reg> to tensor<16x1xf32, #tile.reg>
    %m = tile.reduce max dim 1 %s : tensor<16x16xf32, #tile.reg> to !row
    // CHECK: tile.reduce add dim 1 %[[S]] : tensor<16x16xf32, #tile.reg> to tensor<16x8xf32, #tile.reg>
    %p = tile.reduce add dim 1 %s : tensor<16x16xf32, #tile.reg> to tensor<16x8xf32, #tile.reg>
    // CHECK: tile.store %{{.*}}, %[[BIAS]][%[[C0]], %[[C0]]] dims [0, -1] : tensor<16x1xf32, #tile.reg>, memref<?x4xf32>
    tile.store %m, %bias[%c0, %c0] dims [0, -1] : !row, memref<?x4xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @conditional
  gpu.func @conditional(%moved: tensor<16x1xi1, #tile.reg>, %acc: !full, %l: !row) {
    // CHECK:      tile.if_any %{{.*}} init(%{{.*}}, %{{.*}} : tensor<16x64xf32, #tile.reg>, tensor<16x1xf32, #tile.reg>) : tensor<16x1xi1, #tile.reg> {
    // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<16x64xf32, #tile.reg>, %[[B:.*]]: tensor<16x1xf32, #tile.reg>):
    // CHECK-NEXT:   tile.yield %[[A]], %[[B]] : tensor<16x64xf32, #tile.reg>, tensor<16x1xf32, #tile.reg>
    %r:2 = tile.if_any %moved init(%acc, %l : !full, !row) : tensor<16x1xi1, #tile.reg> {
    ^bb0(%a: !full, %b: !row):
      tile.yield %a, %b : !full, !row
    }
    // CHECK:      tile.if_any %{{.*}} : tensor<16x1xi1, #tile.reg> {
    // CHECK-NEXT:   tile.yield
    // CHECK-NEXT: }
    tile.if_any %moved : tensor<16x1xi1, #tile.reg> {
      tile.yield
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @softmax
  gpu.func @softmax(%lb: index, %ub: index, %s: !full, %v: tensor<64x32xbf16, #tile.reg>, %x: !full) {
    // CHECK:      %[[M:.*]], %[[L:.*]], %[[ACC:.*]] = tile.softmax_sum %{{.*}} to %{{.*}} step 64 full(%{{.*}}, %{{.*}}) scale(1.250000e-01)
    // CHECK-NEXT:   scores(%{{.*}}: index, %{{.*}}: i1) {
    // CHECK:        weights(%{{.*}}: index, %[[P:.*]]: tensor<16x64xf32, #tile.reg>) {
    // CHECK-NEXT:     tile.yield %[[P]] : tensor<16x64xf32, #tile.reg>
    // CHECK:        values(%{{.*}}: index) {
    // CHECK:        : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    %m, %l, %acc = tile.softmax_sum %lb to %ub step 64 full(%lb, %ub) scale(0.125)
      scores(%j: index, %partial: i1) {
        tile.yield %s : !full
      }
      weights(%j: index, %p: !full) {
        tile.yield %p : !full
      }
      values(%j: index) {
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      } : !row, tensor<16x32xf32, #tile.reg>
    // CHECK: tile.softmax_sum %{{.*}} to %{{.*}} step 64 descending full(%{{.*}}, %{{.*}}) visible(%[[LB:.*]], %[[UB:.*]]) scale(1.000000e+00)
    %m4, %l4, %acc4 = tile.softmax_sum %lb to %ub step 64 descending full(%lb, %ub) visible(%lb, %ub) scale(1.0)
      scores(%j: index, %partial: i1) {
        tile.yield %s : !full
      }
      values(%j: index) {
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      } : !row, tensor<16x32xf32, #tile.reg>
    // CHECK: %[[M1:.*]], %[[L1:.*]], %[[ACC1:.*]] = tile.softmax_merge(%[[M]], %[[L]], %[[ACC]]), (%[[M]], %[[L]], %[[ACC]]) : tensor<16x1xf32, #tile.reg>, tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    %m1, %l1, %acc1 = tile.softmax_merge (%m, %l, %acc), (%m, %l, %acc) : !row, !row, tensor<16x32xf32, #tile.reg>
    // CHECK: tile.softmax_finish %[[M1]], %[[L1]], %[[ACC1]] : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    %o, %lse = tile.softmax_finish %m1, %l1, %acc1 : !row, tensor<16x32xf32, #tile.reg>
    gpu.return
  }
}

// CHECK-LABEL: func.func @random
// CHECK-SAME: %[[KEY:.*]]: i64, %[[ROW:.*]]: index
func.func @random(%key: i64, %row: index) -> tensor<16x64xi32, #tile.reg> {
  // CHECK: tile.random key(%[[KEY]]) stream(%[[KEY]]) [%[[ROW]], %[[ROW]]] dim 1 : tensor<16x64xi32, #tile.reg>
  %random = tile.random key(%key) stream(%key) [%row, %row] dim 1 : tensor<16x64xi32, #tile.reg>
  return %random : tensor<16x64xi32, #tile.reg>
}

// CHECK-LABEL: func.func @transpose
// CHECK-SAME: %[[X:.*]]: tensor<16x64xf32, #tile.reg>
func.func @transpose(%x: tensor<16x64xf32, #tile.reg>) -> tensor<64x16xf32, #tile.reg> {
  // CHECK: tile.transpose %[[X]] : tensor<16x64xf32, #tile.reg> to tensor<64x16xf32, #tile.reg>
  %t = tile.transpose %x : tensor<16x64xf32, #tile.reg> to tensor<64x16xf32, #tile.reg>
  return %t : tensor<64x16xf32, #tile.reg>
}

// CHECK-LABEL: func.func @groups
// CHECK-SAME: %[[M:.*]]: memref<?x?x64xbf16>, %[[P:.*]]: index, %[[P1:.*]]: index, %[[P2:.*]]: index, %[[P3:.*]]: index, %[[Z:.*]]: index
func.func @groups(%m: memref<?x?x64xbf16>, %p: index, %p1: index, %p2: index, %p3: index, %z: index) -> tensor<64x64xbf16, #tile.reg> {
  // CHECK: tile.load "k" %[[M]][%[[P]], %[[Z]], %[[Z]], %[[P1]], %[[P2]], %[[P3]]] limit(%[[P]]) dims [1, 2] groups [0, 16] : memref<?x?x64xbf16> to tensor<64x64xbf16, #tile.reg>
  %k = tile.load "k" %m[%p, %z, %z, %p1, %p2, %p3] limit(%p) dims [1, 2] groups [0, 16] : memref<?x?x64xbf16> to tensor<64x64xbf16, #tile.reg>
  return %k : tensor<64x64xbf16, #tile.reg>
}

// CHECK-LABEL: func.func @table
// CHECK-SAME: %[[M:.*]]: memref<?x?x64xbf16>, %[[T:.*]]: memref<?x?xi64>, %[[I:.*]]: index
func.func @table(%m: memref<?x?x64xbf16>, %t: memref<?x?xi64>, %i: index) -> tensor<64x64xbf16, #tile.reg> {
  // CHECK: tile.load "k" %[[M]][%[[I]], %[[I]], %[[I]]] limit(%[[I]]) dims [1, 2] groups [0, 3] at %[[T]][%[[I]], %[[I]]] : memref<?x?x64xbf16> at memref<?x?xi64> to tensor<64x64xbf16, #tile.reg>
  %k = tile.load "k" %m[%i, %i, %i] limit(%i) dims [1, 2] groups [0, 3] at %t[%i, %i] : memref<?x?x64xbf16> at memref<?x?xi64> to tensor<64x64xbf16, #tile.reg>
  return %k : tensor<64x64xbf16, #tile.reg>
}
