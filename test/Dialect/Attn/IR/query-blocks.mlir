// Transposed block lists round-trip.
// RUN: fovea-opt %s | fovea-opt | FileCheck %s

!t = tensor<2x4x?x32xf16>
!rows = tensor<2x4x?xf32>
!n = tensor<2x1x?xi32>
!i = tensor<2x1x?x?xi32>

// CHECK-LABEL: func.func @partial
// CHECK: attn.backward {{.*}} blocks(%{{.*}}, %{{.*}} : tensor<2x1x?xi32>, tensor<2x1x?x?xi32>, size = [128, 64]) query_blocks(%[[C:.*]], %[[I:.*]] : tensor<2x1x?xi32>, tensor<2x1x?x?xi32>) :
func.func @partial(%q: !t, %lse: !rows, %c: !n, %i: !i, %tc: !n, %ti: !i) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %q, %q, %q, %lse, %q query_blocks(%tc, %ti : !n, !i) blocks(%c, %i : !n, !i, size = [128, 64])
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// A list may be shared by the heads in one direction and repeated in the other.
// CHECK-LABEL: func.func @both
// CHECK: attn.backward {{.*}} query_blocks(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x4x9xi32>, tensor<1x4x9x7xi32>, tensor<2x1x9xi32>, tensor<2x1x9x5xi32>)
// CHECK-NEXT: mask_mod
func.func @both(%q: !t, %lse: !rows, %c: !n, %i: !i, %tpc: tensor<1x4x9xi32>, %tpi: tensor<1x4x9x7xi32>, %tfc: tensor<2x1x9xi32>, %tfi: tensor<2x1x9x5xi32>) -> !t {
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(k)
    blocks(%c, %i, %c, %i : !n, !i, !n, !i, size = [16, 16])
    query_blocks(%tpc, %tpi, %tfc, %tfi : tensor<1x4x9xi32>, tensor<1x4x9x7xi32>, tensor<2x1x9xi32>, tensor<2x1x9x5xi32>)
    mask_mod(%b: index, %h: index, %i0: index, %j: index) {
      %keep = arith.cmpi sge, %i0, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}
