// A score_mod whose terms depend on the query alone or the key alone has the plan of plain scores:
// they are added to the existing values per row and per column. A relative position is a sum of
// both.
// RUN: fovea-opt %s --attn-differentiate --attn-to-tile=target=sm_90a --canonicalize --cse | FileCheck %s

// Queries are columns: their steps are part of the softmax constants, from the preprocess kernel.
// Key steps take one more addition per pair and start with the block's relative position; both are
// added before the product, as most of them may cancel.
// CHECK-LABEL: launch.abi @distance
// CHECK-SAME: tile_m = 128, tile_n = 128,
// CHECK-SAME: dots = [<"dv", each_above>,
// CHECK: gpu.func @distance(
// CHECK: tile.for_blocks
// CHECK: %[[QUERIES:.*]] = tile.load "exponents"
// CHECK: %[[FIRST:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK: %[[START:.*]] = arith.mulf %[[FIRST]], %{{.*}} : f32
// CHECK: %[[KEYS:.*]] = tile.ramp %[[START]] step %{{.*}} dim 0 : tensor<128x1xf32, #tile.reg>
// CHECK: %[[S:.*]] = tile.dot "s"
// CHECK: %[[WIDE_KEYS:.*]] = tile.broadcast %[[KEYS]]
// CHECK: %[[WIDE_QUERIES:.*]] = tile.broadcast %[[QUERIES]]
// CHECK: %[[SIDES:.*]] = arith.addf %[[WIDE_KEYS]], %[[WIDE_QUERIES]] : tensor<128x128xf32, #tile.reg>
// CHECK: math.fma %[[S]], %{{.*}}, %[[SIDES]] : tensor<128x128xf32, #tile.reg>
// CHECK: math.exp2
// Its derivative is passed on: no select by P.
// CHECK: tile.dot "dp"
// CHECK-NOT: arith.cmpf
// CHECK: tile.dot "dk"
// LSE is subtracted from the steps, which start at the block's first query.
// CHECK-LABEL: gpu.func @distance_delta(
// CHECK: %[[LSE:.*]] = tile.load %arg4
// CHECK: %[[SIZE:.*]] = math.absf %[[LSE]]
// CHECK-NEXT: %[[NONE:.*]] = arith.cmpf oge, %[[SIZE]],
// CHECK: %[[STEPS:.*]] = tile.ramp %cst{{.*}} step %cst{{.*}} dim 0 : tensor<128x1xf32, #tile.reg>
// CHECK: %[[LEFT:.*]] = arith.subf %[[STEPS]], %[[LSE]] : tensor<128x1xf32, #tile.reg>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[LEFT]], %{{.*}} : tensor<128x1xf32, #tile.reg>
// CHECK: %[[EXPONENTS:.*]] = arith.select %[[NONE]], %{{.*}}, %[[SCALED]]
// CHECK: tile.store "exponents" %[[EXPONENTS]]

// The same with a table per key and a slope per head.
// CHECK-LABEL: launch.abi @table
// CHECK-SAME: tile_m = 128, tile_n = 128,

// A table per query and per-head values leave nothing per pair; the preprocess kernel needs neither
// scores nor keys.
// CHECK-LABEL: launch.abi @by_query
// CHECK-SAME: tile_m = 128, tile_n = 128,
// CHECK-LABEL: gpu.func @by_query(
// CHECK: %[[QUERIES:.*]] = tile.load "exponents"
// CHECK-NOT: tile.load
// CHECK: %[[S:.*]] = tile.dot "s"
// CHECK-NEXT: %[[WIDE:.*]] = tile.broadcast %[[QUERIES]]
// CHECK-NEXT: math.fma %[[S]], %{{.*}}, %[[WIDE]] : tensor<128x128xf32, #tile.reg>
// CHECK-LABEL: gpu.func @by_query_delta(
// CHECK: %[[LSE:.*]] = tile.load %arg4
// CHECK: %[[TABLE:.*]] = tile.load %arg6[%{{.*}}, %{{.*}}] dims [1, -1] : {{.*}} to tensor<128x1xf32, #tile.reg>
// CHECK: %[[HEAD:.*]] = memref.load %arg7
// CHECK: %[[HEADS:.*]] = tile.broadcast %[[HEAD]] : f32 to tensor<128x1xf32, #tile.reg>
// CHECK: %[[TERMS:.*]] = arith.addf %[[TABLE]], %[[HEADS]]
// CHECK: arith.subf %[[TERMS]], %[[LSE]]
// CHECK-NOT: tensor<128x128xf32
// CHECK: gpu.return

// A position alone is a term of the query, including the start of the block.
// CHECK-LABEL: gpu.func @place(
// CHECK: tile.load "exponents"
// CHECK-NOT: arith.sitofp
// CHECK: tile.dot "dk"
// CHECK-LABEL: gpu.func @place_delta(
// CHECK: %[[FIRST:.*]] = arith.sitofp
// CHECK: %[[START:.*]] = arith.mulf %[[FIRST]], %[[STEP:.*]] : f32
// CHECK: tile.ramp %[[START]] step %[[STEP]] dim 0 : tensor<128x1xf32, #tile.reg>

// Not if a term varies per pair, here the minimum of two positions.
// CHECK-LABEL: launch.abi @smaller
// CHECK-SAME: tile_m = 128, tile_n = 64,

// A finite derivative needs no select either; one that depends on a captured value does.
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

func.func @by_query(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %table: tensor<?x?xf32>, %heads: tensor<?xf32>) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do captures(%table, %heads : tensor<?x?xf32>, tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: tensor<?x?xf32>, %of_head: tensor<?xf32>) {
      %x = tensor.extract %c[%h, %i] : tensor<?x?xf32>
      %y = tensor.extract %of_head[%h] : tensor<?xf32>
      %0 = arith.addf %s, %x : f32
      %1 = arith.addf %0, %y : f32
      attn.yield %1 : f32
    }
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

func.func @place(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 0.5 : f32
      %narrow = arith.index_cast %i : index to i32
      %float = arith.sitofp %narrow : i32 to f32
      %bias = arith.mulf %float, %c : f32
      %0 = arith.addf %s, %bias : f32
      attn.yield %0 : f32
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
