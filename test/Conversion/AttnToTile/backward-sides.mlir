// A score_mod that adds what depends on the query alone, or the key alone, has the plan of plain scores: what it adds is
// added to the values that rows and columns of a block have anyway. Distances are sums of both.
// RUN: fovea-opt %s --attn-differentiate --attn-to-tile=target=sm_90a --canonicalize --cse | FileCheck %s

// Queries are columns: their steps meet the exponents' summands, once for a column, above the product that would be waited
// for; keys' are one addition more for a pair.
// CHECK-LABEL: launch.abi @distance
// CHECK-SAME: tile_m = 128, tile_n = 128,
// CHECK-SAME: dots = [<"s", ahead = 1>, <"dv", each_above>]
// CHECK: gpu.func @distance(
// CHECK: tile.for_blocks
// CHECK: %[[VALUES:.*]] = tile.load "exponents"
// CHECK: %[[QUERIES:.*]] = tile.ramp %{{.*}} step %{{.*}} dim 1 : tensor<1x128xf32, #tile.reg>
// CHECK: %[[COLUMNS:.*]] = arith.addf %[[VALUES]], %[[QUERIES]] : tensor<1x128xf32, #tile.reg>
// CHECK: %[[KEYS:.*]] = tile.ramp %{{.*}} step %{{.*}} dim 0 : tensor<128x1xf32, #tile.reg>
// CHECK: %[[S:.*]] = tile.dot "s"
// CHECK: %[[WIDE_COLUMNS:.*]] = tile.broadcast %[[COLUMNS]]
// CHECK: %[[SCORES:.*]] = math.fma %[[S]], %{{.*}}, %[[WIDE_COLUMNS]] : tensor<128x128xf32, #tile.reg>
// CHECK: %[[WIDE_KEYS:.*]] = tile.broadcast %[[KEYS]]
// CHECK: arith.addf %[[WIDE_KEYS]], %[[SCORES]] : tensor<128x128xf32, #tile.reg>
// CHECK: math.exp2
// Its derivative is passed on: nothing is selected by weights.
// CHECK: tile.dot "dp"
// CHECK-NOT: arith.cmpf
// CHECK: tile.dot "dk"

// The same with a table by key and a slope by head.
// CHECK-LABEL: launch.abi @table
// CHECK-SAME: tile_m = 128, tile_n = 128,

// Not with something for each pair, here with the smaller of two positions.
// CHECK-LABEL: launch.abi @smaller
// CHECK-SAME: tile_m = 128, tile_n = 64,

// A derivative that stays finite needs no selection either; one that a captured number takes part in does.
// CHECK-LABEL: gpu.func @capped(
// CHECK: math.tanh
// CHECK-NOT: arith.cmpf
// CHECK: tile.dot "dk"
// CHECK-LABEL: gpu.func @factor(
// CHECK: arith.cmpf une
// CHECK: arith.select

!t = tensor<?x?x?x64xbf16>
!rows = tensor<?x?x?xf32>
func.func @distance(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %distance = arith.subi %j, %i : index
      %narrow = arith.index_cast %distance : index to i32
      %bias = arith.sitofp %narrow : i32 to f32
      %0 = arith.addf %s, %bias : f32
      attn.yield %0 : f32
    }
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

func.func @table(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %keys: tensor<?xf32>, %slopes: tensor<?xf32>) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do captures(%keys, %slopes : tensor<?xf32>, tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %ks: tensor<?xf32>, %sl: tensor<?xf32>) {
      %slope = tensor.extract %sl[%h] : tensor<?xf32>
      %distance = arith.subi %j, %i : index
      %narrow = arith.index_cast %distance : index to i32
      %float = arith.sitofp %narrow : i32 to f32
      %bias = arith.mulf %float, %slope : f32
      %key = tensor.extract %ks[%j] : tensor<?xf32>
      %0 = arith.addf %s, %bias : f32
      %1 = arith.addf %0, %key : f32
      attn.yield %1 : f32
    }
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

func.func @smaller(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %smaller = arith.minsi %j, %i : index
      %narrow = arith.index_cast %smaller : index to i32
      %bias = arith.sitofp %narrow : i32 to f32
      %0 = arith.addf %s, %bias : f32
      attn.yield %0 : f32
    }
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

func.func @capped(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 20.0 : f32
      %part = arith.divf %s, %cap : f32
      %tanh = math.tanh %part : f32
      %0 = arith.mulf %tanh, %cap : f32
      attn.yield %0 : f32
    }
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

func.func @factor(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %keys: tensor<?xf32>) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do captures(%keys : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %ks: tensor<?xf32>) {
      %key = tensor.extract %ks[%j] : tensor<?xf32>
      %0 = arith.mulf %s, %key : f32
      attn.yield %0 : f32
    }
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}
