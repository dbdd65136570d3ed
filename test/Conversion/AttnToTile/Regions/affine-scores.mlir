// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" -cse -canonicalize | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile="target=sm_80 accurate-tanh schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" -cse -canonicalize | FileCheck %s --check-prefix=ACCURATE

// The terms of score_mod become one ramp along the keys; terms of the query alone go to LSE. The
// term may have any size and is not divided by the scale: the addition applies both.

!t = tensor<1x4x?x16xf16>
!l = tensor<1x4x?xf32>

// CHECK-LABEL: gpu.func @alibi
// CHECK-DAG: %[[HALF:.*]] = arith.constant dense<5.000000e-01> : tensor<64x32xf32, #tile.reg>
// CHECK-DAG: %[[MINUS:.*]] = arith.constant -1.000000e+00 : f32
// CHECK: %[[SLOPE:.*]] = memref.load %arg3
// CHECK-DAG: %[[ROW:.*]] = arith.mulf %[[SLOPE]], %[[MINUS]]
// CHECK: tile.softmax_sum {{.*}} scale(1.000000e+00)
// CHECK: scores(%[[J:.*]]: index
// CHECK: %[[S:.*]] = tile.dot
// CHECK: %[[D:.*]] = arith.subi %[[J]], %[[I:.*]] : index
// CHECK: %[[D32:.*]] = arith.index_cast %[[D]]
// CHECK: %[[F:.*]] = arith.sitofp %[[D32]] : i32 to f32
// CHECK: %[[START:.*]] = arith.mulf %[[F]], %[[SLOPE]] : f32
// CHECK: %[[RAMP:.*]] = tile.ramp %[[START]] step %[[SLOPE]] dim 1 : tensor<1x32xf32, #tile.reg>
// CHECK: %[[BIAS:.*]] = tile.broadcast %[[RAMP]]
// CHECK: %[[SUM:.*]] = math.fma %[[S]], %[[HALF]], %[[BIAS]]
// CHECK: arith.select %{{.*}}, %[[SUM]],
// CHECK: %{{.*}}, %[[LSE:.*]] = tile.softmax_finish
// CHECK: %[[COMMON:.*]] = tile.ramp %{{.*}} step %[[ROW]] dim 0 : tensor<64x1xf32, #tile.reg>
// CHECK: arith.addf %[[LSE]], %[[COMMON]]
func.func @alibi(%q: !t, %k: !t, %v: !t, %slopes: tensor<4xf32>) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v scale(0.5) captures(%slopes : tensor<4xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %slopes: tensor<4xf32>) {
      %slope = tensor.extract %slopes[%h] : tensor<4xf32>
      %d = arith.subi %j, %i : index
      %d32 = arith.index_cast %d : index to i32
      %f = arith.sitofp %d32 : i32 to f32
      %bias = arith.mulf %slope, %f : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

// One multiplication before the function, none after it.
// CHECK-LABEL: gpu.func @soft_cap
// CHECK: tile.softmax_sum {{.*}} scale(3.000000e+01)
// CHECK: %[[S:.*]] = tile.dot
// CHECK: %[[X:.*]] = arith.mulf %[[S]], %{{.*}} : tensor<64x32xf32, #tile.reg>
// CHECK: %[[T:.*]] = math.tanh %[[X]] fastmath<afn>
// CHECK: arith.select %{{.*}}, %[[T]],
// ACCURATE-LABEL: gpu.func @soft_cap
// ACCURATE: math.tanh %{{[0-9]+}} : tensor
func.func @soft_cap(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v scale(0.5)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 30.0 : f32
      %x = arith.divf %s, %cap : f32
      %c = math.tanh %x : f32
      %r = arith.mulf %c, %cap : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// A factor of queries alone need not be finite where the score is: it stays.
// CHECK-LABEL: gpu.func @row_bias
// CHECK: tile.dot
// CHECK: %[[RAMP:.*]] = tile.ramp %{{.*}} step %{{.*}} dim 0
// CHECK: %[[WIDE:.*]] = tile.broadcast %[[RAMP]]
// CHECK: arith.addf %[[WIDE]], %{{.*}} : tensor<64x32xf32, #tile.reg>
func.func @row_bias(%q: !t, %k: !t, %v: !t, %x: f32) -> !t {
  %o = attn.forward %q, %k, %v scale(0.5) captures(%x : f32)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: f32) {
      %i32 = arith.index_cast %i : index to i32
      %f = arith.sitofp %i32 : i32 to f32
      %bias = arith.mulf %x, %f : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// Only sums and differences of coordinates are recognized.
// CHECK-LABEL: gpu.func @wraps
// CHECK: tile.dot
// CHECK-NOT: tile.ramp
// CHECK: arith.sitofp {{.*}} : tensor<1x32xi32, #tile.reg> to tensor<1x32xf32, #tile.reg>
func.func @wraps(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v scale(0.5)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 7 : i32
      %j32 = arith.index_cast %j : index to i32
      %m = arith.muli %j32, %c : i32
      %f = arith.sitofp %m : i32 to f32
      %r = arith.addf %s, %f : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// An unused score, and a constant one.
// CHECK-LABEL: gpu.func @constant
// CHECK: tile.softmax_sum {{.*}} scale(1.000000e+00)
func.func @constant(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v scale(0.5)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 1.0 : f32
      attn.yield %c : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
