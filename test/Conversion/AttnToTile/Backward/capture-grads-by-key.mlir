// With roles, key tiles compute gradients of captured tensors whose index depends on key, head and
// batch entry at most: one accumulator per key is carried by the loop over query blocks, and added
// to memory once per head. The preprocess kernel computes the sinks' gradient. The dQ role computes
// gradients indexed by query; for others a separate kernel processes all pairs again.
// RUN: fovea-opt %s --split-input-file --attn-differentiate --attn-to-tile=target=sm_90a | FileCheck %s

// CHECK-LABEL: launch.abi @heads
// CHECK-SAME: prologue([@heads_delta]) epilogue([@heads_queries, @heads_dcapture0])
// CHECK: %[[NONE:.*]] = arith.constant dense<0.000000e+00> : tensor<128x1xf32, #tile.reg>
// CHECK: %[[SUMS:.*]]:3 = tile.for_blocks {{.*}} carry(%{{.*}}, %{{.*}}, %[[NONE]] :
// CHECK-NEXT: do({{.*}}, %[[CARRIED:.*]]: tensor<128x1xf32, #tile.reg>)
// CHECK: %[[SHARES:.*]] = tile.reduce add dim 1 %{{.*}} : tensor<128x64xf32, #tile.reg> to tensor<128x1xf32, #tile.reg>
// CHECK: %[[NEXT:.*]] = arith.addf %[[CARRIED]], %[[SHARES]]
// CHECK: tile.yield %{{.*}}, %{{.*}}, %[[NEXT]] :
// CHECK: tile.scatter add exact %[[SUMS]]#2, %{{.*}}[%{{.*}}] : tensor<128x1xf32, #tile.reg>, memref<33x?xi64>[index]

!x = tensor<?x2x?x64xbf16>
!r = tensor<?x2x?xf32>
!s = tensor<?xbf16>
func.func @heads(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %e = tensor.extract %tt[%h] : !s
      %f = arith.extf %e : bf16 to f32
      %n = arith.mulf %a, %f : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s
  return %dq, %dk, %dv, %dt : !x, !x, !x, !s
}

// -----

// The keys of an index are those of the tile. A contribution that might be NaN is masked by its
// pair; one that is a finite multiple of the derivative is 0 with it.
// CHECK-LABEL: launch.abi @keys
// CHECK: tile.for_blocks
// CHECK-NOT: tile.scatter
// CHECK: %[[COUNTS:.*]] = arith.cmpf une, %{{.*}}, %{{.*}} : tensor<128x64xf32, #tile.reg>
// CHECK: %[[SHARES:.*]] = arith.select %[[COUNTS]], %{{.*}}, %{{.*}} : tensor<128x64xi1, #tile.reg>, tensor<128x64xf32, #tile.reg>
// CHECK: tile.reduce add dim 1 %[[SHARES]]
// CHECK: tile.yield
// CHECK: %[[PLACES:.*]] = tile.iota dim 0 : tensor<128x1xi32, #tile.reg>
// CHECK: %[[KEYS:.*]] = arith.addi %[[PLACES]], %{{.*}} overflow<nsw> : tensor<128x1xi32, #tile.reg>
// CHECK: tile.scatter add %{{.*}}, %{{.*}}[%[[KEYS]]] : tensor<128x1xf32, #tile.reg>, memref<?xf32>[tensor<128x1xi32, #tile.reg>]

!x = tensor<?x2x?x64xbf16>
!r = tensor<?x2x?xf32>
!s = tensor<?xbf16>
func.func @keys(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %e = tensor.extract %tt[%j] : !s
      %f = arith.extf %e : bf16 to f32
      %exp = math.exp %a : f32
      %n = arith.mulf %exp, %f : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s
  return %dq, %dk, %dv, %dt : !x, !x, !x, !s
}

// -----

// A gain and a gate per key share one accumulator, of the derivative times the score. Each
// multiplies it by its own factor after the loop.
// CHECK-LABEL: gpu.func @together(
// CHECK: %[[SUMS:.*]]:3 = tile.for_blocks
// CHECK: tile.reduce add dim 1
// CHECK-NOT: tile.reduce
// CHECK: tile.yield
// CHECK: %[[GATES:.*]] = math.exp %{{.*}} : tensor<128x1xf32, #tile.reg>
// CHECK: %[[GAINED:.*]] = arith.mulf %[[SUMS]]#2, %{{.*}} : tensor<128x1xf32, #tile.reg>
// CHECK: arith.cmpf oeq, %[[GAINED]]
// CHECK: arith.mulf %[[GAINED]], %[[GATES]] : tensor<128x1xf32, #tile.reg>
// CHECK: %[[OF_GAIN:.*]] = arith.mulf %[[SUMS]]#2, %[[GATES]] : tensor<128x1xf32, #tile.reg>
// CHECK-NEXT: tile.scatter add %{{.*}} : tensor<128x1xf32, #tile.reg>, memref<?xf32>[tensor<128x1xi32, #tile.reg>]
// CHECK-NEXT: tile.scatter add exact %[[OF_GAIN]]

!x = tensor<?x2x?x64xbf16>
!r = tensor<?x2x?xf32>
!s = tensor<?xf32>
func.func @together(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s, %u: !s) -> (!x, !x, !x, !s, !s) {
  %dq, %dk, %dv, %dt, %du = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0, 1]) captures(%t, %u : !s, !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s, %uu: !s) {
      %gain = tensor.extract %tt[%h] : !s
      %key = tensor.extract %uu[%j] : !s
      %gate = math.exp %key : f32
      %m = arith.mulf %a, %gain : f32
      %n = arith.mulf %m, %gate : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s, !s
  return %dq, %dk, %dv, %dt, %du : !x, !x, !x, !s, !s
}

// -----

// The heads of a group are processed one after the other: accumulators cover one head.
// CHECK-LABEL: gpu.func @groups(
// CHECK: scf.for
// CHECK: tile.for_blocks
// CHECK: tile.scatter add exact
// CHECK: scf.yield

!q = tensor<?x8x?x64xbf16>
!k = tensor<?x2x?x64xbf16>
!r = tensor<?x8x?xf32>
!s = tensor<8xf32>
func.func @groups(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !r, %do: !q, %t: !s) -> (!q, !k, !k, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %e = tensor.extract %tt[%h] : !s
      %n = arith.mulf %a, %e : f32
      attn.yield %n : f32
    }
    : !q, !k, !k, !q, !r, !q -> !q, !k, !k, !s
  return %dq, %dk, %dv, %dt : !q, !k, !k, !s
}

// -----

// Shares streamed for a sum per query are rounded as dS is.
// CHECK-LABEL: launch.abi @queries
// CHECK-SAME: <"reduce", warps = 4, registers = 72, owns = ["dq", "dq_sum", "distance_sum"]>
// CHECK-SAME: epilogue([@queries_queries, @queries_dcapture0])
// CHECK: gpu.func @queries(
// CHECK: %[[SHARE:.*]] = tile.stream "share.0"
// CHECK: tile.dot "dq.0"
// CHECK: %[[WIDE:.*]] = arith.extf %[[SHARE]]
// CHECK: tile.scatter add "distance_sum" %[[WIDE]], %{{.*}}[%{{.*}}] : tensor<128x64xf32, #tile.reg>, memref<?xf32>[tensor<1x64xi32, #tile.reg>]

!x = tensor<?x2x?x64xbf16>
!r = tensor<?x2x?xf32>
!s = tensor<?xf32>
func.func @queries(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %e = tensor.extract %tt[%i] : !s
      %n = arith.mulf %a, %e : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s
  return %dq, %dk, %dv, %dt : !x, !x, !x, !s
}

// -----

// CHECK-LABEL: launch.abi @pairs
// CHECK-SAME: epilogue([@pairs_queries, @pairs_sums, @pairs_dcapture0])
// CHECK: gpu.func @pairs(
// CHECK-NOT: tile.scatter
// CHECK-LABEL: gpu.func @pairs_sums(
// CHECK: launch.await_previous
// CHECK: tile.scatter add

!x = tensor<?x2x?x64xbf16>
!r = tensor<?x2x?xf32>
!s = tensor<?xf32>
func.func @pairs(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %p = arith.addi %i, %j : index
      %e = tensor.extract %tt[%p] : !s
      %n = arith.addf %a, %e : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s
  return %dq, %dk, %dv, %dt : !x, !x, !x, !s
}

// -----

// CHECK-LABEL: launch.abi @sinks
// CHECK-SAME: prologue([@sinks_delta]) epilogue([@sinks_queries, @sinks_dsinks])
// CHECK-LABEL: gpu.func @sinks_delta(
// CHECK: tile.scatter add exact
// CHECK-LABEL: gpu.func @sinks_queries(
// CHECK-NOT: tile.scatter

!x = tensor<?x2x?x64xbf16>
!r = tensor<?x2x?xf32>
!s = tensor<2xf32>
func.func @sinks(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, sinks) sinks(%t : !s)
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s
  return %dq, %dk, %dv, %dt : !x, !x, !x, !s
}
