// Gradients of a table indexed by the relative position of query and key: indices are tiles per
// relative position, so that the lowering can reduce pairs with equal indices.
// RUN: fovea-opt %s --attn-differentiate --attn-to-tile=target=sm_90a --canonicalize --cse | FileCheck %s
// RUN: fovea-opt %s --attn-differentiate --attn-to-tile=target=sm_80 --canonicalize --cse | FileCheck %s

// The relative position takes two operations, which cost less than broadcasting it to all pairs;
// its sums are still computed per relative position. The head is uniform.
// CHECK-LABEL: gpu.func @distances(
// CHECK: tile.iota dim 1 : tensor<1x128xi32, #tile.reg>
// CHECK: arith.subi %{{.*}}, %{{.*}} : tensor<1x128xi32, #tile.reg>
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %{{.*}} : tensor<1x128xi32, #tile.reg>
// CHECK: %[[PLACE:.*]] = tile.diagonals %[[AT]] : tensor<1x128xi32, #tile.reg> to tensor<64x64xi32, #tile.reg>
// CHECK: tile.scatter add %{{.*}}, %{{.*}}[%{{.*}}, %[[PLACE]]] mask(%{{.*}} : {{.*}}) : tensor<64x64xf32, #tile.reg>, memref<?x?xf32>[index, tensor<64x64xi32, #tile.reg>]

// An index that also depends on the query varies along a relative position.
// CHECK-LABEL: gpu.func @queries(
// CHECK-NOT: tile.diagonals %{{.*}} : tensor<1x128xi32
// CHECK: tile.scatter add
!x = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
!t = tensor<?x?xf32>
func.func @distances(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !t) -> !t {
  %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(captures = [0]) captures(%t : !t)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !t) {
      %c9 = arith.constant 9 : index
      %d = arith.subi %i, %j : index
      %at = arith.addi %d, %c9 : index
      %e = tensor.extract %tt[%h, %at] : !t
      %y = arith.addf %a, %e : f32
      attn.yield %y : f32
    }
    : !x, !x, !x, !x, !r, !x -> !t
  return %dt : !t
}

func.func @queries(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !t) -> !t {
  %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(captures = [0]) captures(%t : !t)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !t) {
      %c9 = arith.constant 9 : index
      %d = arith.subi %i, %j : index
      %at = arith.addi %d, %c9 : index
      %e = tensor.extract %tt[%i, %at] : !t
      %y = arith.addf %a, %e : f32
      attn.yield %y : f32
    }
    : !x, !x, !x, !x, !r, !x -> !t
  return %dt : !t
}
