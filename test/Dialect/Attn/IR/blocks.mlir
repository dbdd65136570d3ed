// Block lists round-trip.
// RUN: fovea-opt %s | fovea-opt | FileCheck %s

!t = tensor<2x4x?x32xf16>

// CHECK-LABEL: func.func @partial
// CHECK: attn.forward %{{.*}}, %{{.*}}, %{{.*}} lengths(%{{.*}} : tensor<2xi32>) blocks(%[[C:.*]], %[[I:.*]] : tensor<2x1x?xi32>, tensor<2x1x?x?xi32>, size = [128, 64]) :
func.func @partial(%q: !t, %n: tensor<2xi32>, %c: tensor<2x1x?xi32>, %i: tensor<2x1x?x?xi32>) -> !t {
  %o = attn.forward %q, %q, %q lengths(%n : tensor<2xi32>)
    blocks(%c, %i : tensor<2x1x?xi32>, tensor<2x1x?x?xi32>, size = [128, 64]) : !t, !t, !t -> !t
  return %o : !t
}

// CHECK-LABEL: func.func @both
// CHECK: attn.forward %{{.*}} blocks(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x4x7xi32>, tensor<1x4x7x9xi32>, tensor<1x1x7xi32>, tensor<1x1x7x5xi32>, size = [16, 1])
// CHECK-NEXT: mask_mod
func.func @both(%q: !t, %pc: tensor<1x4x7xi32>, %pi: tensor<1x4x7x9xi32>, %fc: tensor<1x1x7xi32>, %fi: tensor<1x1x7x5xi32>) -> !t {
  %o = attn.forward %q, %q, %q
    blocks(%pc, %pi, %fc, %fi : tensor<1x4x7xi32>, tensor<1x4x7x9xi32>, tensor<1x1x7xi32>, tensor<1x1x7x5xi32>, size = [16, 1])
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
