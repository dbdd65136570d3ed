// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile=target=sm_90a | FileCheck %s --check-prefix=TILE
// Attention of 8-bit floats, with the scales of Q, K and V and V's mean.
!q = tensor<2x4x?x128xf8E4M3FN>
!k = tensor<2x2x?x128xf8E4M3FN>
!o = tensor<2x4x?x128xbf16>

// CHECK-LABEL: func.func @scaled
// CHECK: attn.forward %{{.*}}, %{{.*}}, %{{.*}} scales(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x1xf32>, tensor<2x2xf32>, tensor<1x2xf32>, tensor<1x2x128xf32>, names = ["q", "k", "v", "v_mean"])
// The host passes them by name. V is transposed by a role of its own, from one stream into another.
// TILE-LABEL: launch.abi @scaled
// TILE-SAME: streams = [{{.*}}<"vt", stages =
// TILE-SAME: roles = [<"load", warps = 2{{.*}}<"transpose", warps = 2, {{.*}}owns = ["vt"]>, <"compute"
// TILE-SAME: #launch.tensor<"q_scale", read, tensor<1x1xf32>, ["q_scale.0", "q_scale.1"], 4>
// TILE-SAME: #launch.tensor<"k_scale", read, tensor<2x2xf32>, ["B", "Hkv"], 4>
// TILE-SAME: #launch.tensor<"v_mean", read, tensor<1x2x128xf32>, ["v_mean.0", "Hkv", "Dv"], 4>
// The scales of Q and K are a factor of the exponents; those of V apply to the output.
// TILE: %[[Q:.*]] = memref.load %{{.*}}[%c0
// TILE: %[[K:.*]] = memref.load
// TILE: %[[BOTH:.*]] = arith.mulf %[[Q]], %[[K]] : f32
// TILE: %{{.*}}, %[[L:.*]], %[[ACC:.*]] = tile.softmax_sum {{.*}} scale({{.*}}, %[[BOTH]])
// TILE: %[[V:.*]] = tile.load "v"
// TILE: %[[T:.*]] = tile.transpose %[[V]]
// TILE: %[[S:.*]] = tile.stream "vt" %[[T]]
// TILE: tile.transpose %[[S]]
// TILE: %[[FACTOR:.*]] = tile.broadcast %{{.*}} : f32
// TILE: %[[SCALED:.*]] = arith.mulf %[[ACC]], %[[FACTOR]]
// TILE: math.fma %{{.*}}, %{{.*}}, %[[SCALED]]
// TILE: tile.softmax_finish
func.func @scaled(%q: !q, %k: !k, %v: !k, %sq: tensor<1x1xf32>, %sk: tensor<2x2xf32>, %sv: tensor<1x2xf32>,
                  %mean: tensor<1x2x128xf32>) -> !o {
  %o = attn.forward %q, %k, %v
    scales(%sq, %sk, %sv, %mean : tensor<1x1xf32>, tensor<2x2xf32>, tensor<1x2xf32>, tensor<1x2x128xf32>,
           names = ["q", "k", "v", "v_mean"]) : !q, !k, !k -> !o
  return %o : !o
}

// A score_mod gets the scaled scores.
// TILE-LABEL: gpu.func @capped
// TILE: tile.softmax_sum {{.*}} scale(1.0{{.*}})
// TILE: arith.mulf %{{.*}}, %{{.*}} : tensor<
// TILE: math.tanh
func.func @capped(%q: !q, %k: !k, %v: !k, %sk: tensor<1x1xf32>) -> !o {
  %o = attn.forward %q, %k, %v scales(%sk : tensor<1x1xf32>, names = ["k"])
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %t = math.tanh %s : f32
      attn.yield %t : f32
    } : !q, !k, !k -> !o
  return %o : !o
}
