// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" --split-input-file | FileCheck %s

!t = tensor<?x4x?x16xf16>

// The head's sink is added when the row sums are finished.
// CHECK: launch.abi @sinks
// CHECK-SAME: #launch.tensor<"sinks", read, tensor<4xf32>, ["Hq"], 4>
// CHECK-LABEL: gpu.func @sinks
// CHECK: tile.foreach_work
// CHECK: %[[HEAD:.*]] = arith.remui %{{.*}}, %c4
// CHECK: %[[M:.*]], %[[L:.*]], %[[ACC:.*]] = tile.softmax_sum
// CHECK: %[[SINK:.*]] = memref.load %arg3[%[[HEAD]]]
// CHECK: %[[ROWS:.*]] = tile.broadcast %[[SINK]] : f32 to tensor<64x1xf32, #tile.reg>
// CHECK: tile.softmax_finish %[[M]], %[[L]], %[[ACC]] sink(%[[ROWS]] : tensor<64x1xf32, #tile.reg>)
func.func @sinks(%q: !t, %s: tensor<4xf32>) -> !t {
  %o = attn.forward %q, %q, %q sinks(%s : tensor<4xf32>) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<?x4x?x16xf16>

// Pairs whose random number is below the dropped share, 1/4 or 16384, are dropped from the product;
// the row sums keep them. The output is scaled for the others.
// CHECK: launch.abi @dropout
// CHECK-SAME: #launch.scalar<"dropout_seed", i64>, #launch.scalar<"dropout_offset", i64>
// CHECK-SAME: generator(1)
// CHECK-LABEL: gpu.func @dropout
// CHECK-SAME: %[[SEED:[a-z0-9]*]]: i64, %[[OFFSET:[a-z0-9]*]]: i64
// CHECK: %[[UPPER:.*]] = arith.andi %[[OFFSET]], %c-4294967296_i64
// CHECK: %[[KEY:.*]] = arith.xori %[[SEED]], %[[UPPER]]
// CHECK: %[[HEADS:.*]] = arith.muli
// CHECK: %[[HEAD:.*]] = arith.addi %[[HEADS]]
// CHECK: %[[SHIFTED:.*]] = arith.shli %[[OFFSET]], %c32_i64
// CHECK: %[[STREAM:.*]] = arith.ori %[[HEAD]], %[[SHIFTED]]
// CHECK: tile.softmax_sum
// CHECK: weights(%[[J:.*]]: index, %[[P:.*]]: tensor<64x32xf32, #tile.reg>)
// CHECK: %[[DRAWN:.*]] = tile.random key(%[[KEY]]) stream(%[[STREAM]]) [%{{.*}}, %[[J]]] dim 1 :
// CHECK: %[[DROPPED:.*]] = arith.constant dense<16384>
// CHECK: %[[KEPT:.*]] = arith.cmpi uge, %[[DRAWN]], %[[DROPPED]]
// CHECK: %[[W:.*]] = arith.select %[[KEPT]], %[[P]]
// CHECK: tile.yield %[[W]]
// CHECK: %[[O:.*]], %{{.*}} = tile.softmax_finish
// CHECK: %[[FACTOR:.*]] = arith.constant dense<1.33333337>
// CHECK: arith.mulf %[[O]], %[[FACTOR]]
func.func @dropout(%q: !t, %seed: i64, %offset: i64) -> !t {
  %o = attn.forward %q, %q, %q dropout(0.25, %seed, %offset) : !t, !t, !t -> !t
  return %o : !t
}
