// With roles, gradients of captured tensors that are indexed by relative position are computed
// along with dQ: the role that reads dS for dQ reduces it per relative position. Other
// contributions of pairs are streamed to that role, too, if they fit. Values that score_mod
// computes per relative position are tiles per relative position even if rows are keys.
// RUN: fovea-opt %s --split-input-file --attn-differentiate --attn-to-tile=target=sm_90a --canonicalize --cse | FileCheck %s

// A one-warp role loads the values of a table: nothing else is computed per pair, and blocks have
// 128 queries.
// CHECK-LABEL: launch.abi @added
// CHECK-SAME: <"ds", stages = 2, staged>
// CHECK-SAME: <"diagonals.0", stages = 2, staged>
// CHECK-SAME: <"s", adds_to_summand>
// CHECK-SAME: <"load", warps = 3, registers = 24
// CHECK-SAME: <"diagonals", warps = 1, registers = 24, owns = ["diagonals"]>
// CHECK-SAME: <"compute", warps = 8, registers = 200, owns = ["s", "dp", "ds", "dv", "dk", "dv_out", "dk_out"]>
// CHECK-SAME: <"reduce", warps = 4, registers = 88, owns = ["dq", "dq_sum", "distance_sum"]>
// CHECK-SAME: "dq.0", "distance_sum", "dq.0.done", "dq_sum.0"
// CHECK-SAME: epilogue([@added_queries, @added_dcapture0])
// CHECK: gpu.func @added(
// CHECK: %[[EIGHT:.*]] = arith.constant dense<8.000000e+00> : tensor<1x256xf32, #tile.reg>
// CHECK: tile.for_blocks
// The first relative position is that of the last key and the first query.
// CHECK: %[[LAST:.*]] = arith.addi %{{.*}}, %c127 : index
// CHECK: tile.iota dim 1 : tensor<1x256xi32, #tile.reg>
// CHECK: %[[DISTANCE:.*]] = arith.subi %{{.*}}, %{{.*}} : tensor<1x256xi32, #tile.reg>
// CHECK: %[[BIAS:.*]] = tile.gather %{{.*}}[%{{.*}}, %[[DISTANCE]]] : {{.*}} to tensor<1x256xf32, #tile.reg>
// Scores start from these values, divided by the scale: 1/8.
// CHECK: %[[DIVIDED:.*]] = arith.mulf %[[BIAS]], %[[EIGHT]]
// CHECK: %[[START:.*]] = tile.diagonals %[[DIVIDED]] : tensor<1x256xf32, #tile.reg> to tensor<128x128xf32, #tile.reg>
// CHECK: %[[PRODUCT:.*]] = tile.dot "s" %{{.*}}, %{{.*}}, %[[START]]
// CHECK: math.fma %[[PRODUCT]], %{{.*}}, %{{.*}}
// CHECK: %[[DS:.*]] = tile.stream "ds"
// CHECK: tile.dot "dk"
// The sums follow the first dot of dQ, with which they overlap.
// CHECK: tile.dot "dq.0" %[[DS]]
// CHECK: %[[PLACE:.*]] = tile.diagonals %[[DISTANCE]] : tensor<1x256xi32, #tile.reg> to tensor<128x128xi32, #tile.reg>
// CHECK: %[[SHARE:.*]] = arith.extf %[[DS]] : tensor<128x128xbf16, #tile.reg>
// CHECK: tile.scatter add "distance_sum" %[[SHARE]], %{{.*}}[%{{.*}}, %[[PLACE]]] : tensor<128x128xf32, #tile.reg>
// CHECK: tile.store add "dq_sum.0"

!x = tensor<?x2x?x64xbf16>
!r = tensor<?x2x?xf32>
!t = tensor<?x?xf32>
func.func @added(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !t) -> (!x, !x, !x, !t) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) captures(%t : !t)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !t) {
      %d = arith.subi %i, %j : index
      %e = tensor.extract %tt[%h, %d] : !t
      %n = arith.addf %a, %e : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !t
  return %dq, %dk, %dv, %dt : !x, !x, !x, !t
}

// -----

// With a factor that is not constant the scores start from zero.
// CHECK-LABEL: launch.abi @uniform_factor
// CHECK-SAME: order = [{{.*}}"s" + 1
// CHECK: %[[START:.*]] = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #tile.reg>
// CHECK: tile.dot "s" %{{.*}}, %{{.*}}, %[[START]]

!x = tensor<?x2x?x64xbf16>
!r = tensor<?x2x?xf32>
!t = tensor<?x?xf32>
func.func @uniform_factor(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !t, %w: f32) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v) captures(%t, %w : !t, f32)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !t, %ww: f32) {
      %d = arith.subi %i, %j : index
      %e = tensor.extract %tt[%h, %d] : !t
      %f = arith.mulf %a, %ww : f32
      %n = arith.addf %f, %e : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}

// -----

// A factor's contribution is the derivative times the score. Two tables with equal contributions
// share one stream; one indexed by key is loop-carried in addition.
// CHECK-LABEL: launch.abi @factors
// CHECK-SAME: <"ds", stages = 2, staged>, <"share.0", stages = 2, staged>, <"exponents"
// CHECK-SAME: <"compute", warps = 8, registers = 208, owns = ["s", "dp", "ds", "dv", "dk", "dv_out", "dk_out", "share", "*"]>
// CHECK-SAME: epilogue([@factors_queries, @factors_dcapture0, @factors_dcapture1, @factors_dcapture2])
// CHECK: %[[ROUNDED:.*]] = arith.truncf
// CHECK: %[[SHARE:.*]] = tile.stream "share.0"
// CHECK: %[[DS:.*]] = tile.stream "ds"
// CHECK: tile.dot "dq.0" %[[DS]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[SHARE]]
// CHECK: tile.scatter add "distance_sum" %[[WIDE]]
// CHECK: tile.scatter add "distance_sum" %[[WIDE]]
// CHECK: tile.scatter add %{{.*}} : tensor<128x1xf32, #tile.reg>, memref<?xf32>[tensor<128x1xi32, #tile.reg>]

!x = tensor<?x2x?x64xbf16>
!r = tensor<?x2x?xf32>
!s = tensor<?xf32>
func.func @factors(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s, %u: !s, %w: !s) -> (!x, !x, !x, !s, !s, !s) {
  %dq, %dk, %dv, %dt, %du, %dw = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0, 1, 2]) captures(%t, %u, %w : !s, !s, !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s, %uu: !s, %ww: !s) {
      %d = arith.subi %i, %j : index
      %abs = math.absi %d : index
      %e = tensor.extract %tt[%d] : !s
      %f = tensor.extract %uu[%abs] : !s
      %g = tensor.extract %ww[%j] : !s
      %s = arith.addf %e, %f : f32
      %n = arith.mulf %a, %s : f32
      %m = arith.addf %n, %g : f32
      attn.yield %m : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s, !s, !s
  return %dq, %dk, %dv, %dt, %du, %dw : !x, !x, !x, !s, !s, !s
}

// -----

// One role holds dS and computes dQ: the contributions stay in registers. It waits for its MMAs
// where they are issued, so the sums precede them.
// CHECK-LABEL: launch.abi @wide
// CHECK-NOT: "dq.0.done"
// CHECK-SAME: <"score", warps = 4, registers = 168, owns = ["s", "p", "dp", "ds", "share", "dq", "dq_sum", "distance_sum"]>
// CHECK-NOT: tile.stream "share
// CHECK: tile.scatter add "distance_sum"
// CHECK-NOT: tile.stream "share
// CHECK: tile.dot "dq.0"
// CHECK-LABEL: gpu.func @wide_queries(

!x = tensor<?x2x?x256xbf16>
!r = tensor<?x2x?xf32>
!s = tensor<?xf32>
func.func @wide(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %d = arith.subi %i, %j : index
      %e = tensor.extract %tt[%d] : !s
      %y = math.tanh %a : f32
      %n = arith.addf %y, %e : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s
  return %dq, %dk, %dv, %dt : !x, !x, !x, !s
}

// -----

// dS needs only P: another role computes dQ, chunk by chunk, and the sums during the first chunk.
// No chunk is computed ahead.
// CHECK-LABEL: launch.abi @pairs
// CHECK-SAME: <"reduce", warps = 4, registers = 72, owns = ["dq", "dq_sum", "distance_sum"]>
// CHECK-SAME: "dq.0", "distance_sum", "dq.0.done", "dq_sum.0"
// CHECK: tile.dot "dq.0"
// CHECK-NOT: tile.dot "dq.1"
// CHECK: tile.scatter add "distance_sum"
// CHECK: tile.store add "dq_sum.0"
// CHECK: tile.dot "dq.1"
// CHECK: tile.store add "dq_sum.1"

!x = tensor<?x2x?x256xbf16>
!r = tensor<?x2x?xf32>
!s = tensor<?xf32>
func.func @pairs(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %d = arith.subi %i, %j : index
      %e = tensor.extract %tt[%d] : !s
      %n = arith.addf %a, %e : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s
  return %dq, %dk, %dv, %dt : !x, !x, !x, !s
}

// -----

// Many such tables do not fit shared memory: a separate kernel processes all pairs again.
// CHECK-LABEL: launch.abi @many
// CHECK-SAME: epilogue([@many_queries, @many_sums,
// CHECK: gpu.func @many(
// CHECK-NOT: tile.scatter
// CHECK-LABEL: gpu.func @many_sums(
// CHECK: tile.scatter add

!x = tensor<?x2x?x128xbf16>
!r = tensor<?x2x?xf32>
!s = tensor<?xf32>
func.func @many(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s, %u: !s, %w: !s) -> (!x, !x, !x, !s, !s, !s) {
  %dq, %dk, %dv, %dt, %du, %dw = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0, 1, 2]) captures(%t, %u, %w : !s, !s, !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s, %uu: !s, %ww: !s) {
      %d = arith.subi %i, %j : index
      %e = tensor.extract %tt[%d] : !s
      %f = tensor.extract %uu[%d] : !s
      %g = tensor.extract %ww[%d] : !s
      %x = arith.mulf %a, %e : f32
      %y = arith.mulf %x, %f : f32
      %z = arith.mulf %y, %g : f32
      attn.yield %z : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s, !s, !s
  return %dq, %dk, %dv, %dt, %du, %dw : !x, !x, !x, !s, !s, !s
}

// -----

// A factor from a quotient and a table, both by relative position: each has a stream, and the
// factor, which the derivative also reads, has two stages.
// CHECK-LABEL: launch.abi @two_numbers
// CHECK-SAME: <"diagonals.0", stages = 2, staged>, <"diagonals.1", stages = 2, staged>, <"diagonals.2", stages = 2, staged>,

!x = tensor<?x2x?x128xbf16>
!r = tensor<?x2x?xf32>
!s = tensor<?xf32>
func.func @two_numbers(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %one = arith.constant 1.0 : f32
      %c = arith.constant 4096 : index
      %d = arith.subi %i, %j : index
      %at = arith.addi %d, %c : index
      %n = arith.index_cast %at : index to i32
      %f = arith.sitofp %n : i32 to f32
      %inverse = arith.divf %one, %f : f32
      %e = tensor.extract %tt[%at] : !s
      %y = arith.mulf %a, %inverse : f32
      %z = arith.addf %y, %e : f32
      attn.yield %z : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %causal = arith.cmpi sge, %i, %j : index
      attn.yield %causal : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
