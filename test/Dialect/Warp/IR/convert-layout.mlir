// RUN: fovea-opt %s --split-input-file --canonicalize | FileCheck %s

!acc = tensor<64x32xf8E4M3FN, #warp.wgmma<groups = 1>>
!operand = tensor<64x32xf8E4M3FN, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>

// CHECK-LABEL: func.func @plain
func.func @plain(%x: !acc) -> !operand {
  // CHECK: warp.convert_layout %{{.*}} : tensor<64x32xf8E4M3FN, #warp.wgmma<groups = 1>> to tensor<64x32xf8E4M3FN, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>
  %y = warp.convert_layout %x : !acc to !operand
  return %y : !operand
}

// CHECK-LABEL: func.func @permuted
func.func @permuted(%x: !acc) -> !operand {
  // CHECK: warp.convert_layout permuted
  %y = warp.convert_layout permuted %x : !acc to !operand
  return %y : !operand
}

// A conversion and its inverse fold.
// CHECK-LABEL: func.func @back
// CHECK-SAME: (%[[X:.*]]: tensor
func.func @back(%x: !acc) -> !acc {
  %y = warp.convert_layout %x : !acc to !operand
  %z = warp.convert_layout %y : !operand to !acc
  // CHECK-NEXT: return %[[X]]
  return %z : !acc
}

// Permuting conversions do not fold.
// CHECK-LABEL: func.func @permuted_back
func.func @permuted_back(%x: !acc) -> !acc {
  // CHECK: warp.convert_layout permuted
  %y = warp.convert_layout permuted %x : !acc to !operand
  // CHECK: warp.convert_layout %
  %z = warp.convert_layout %y : !operand to !acc
  return %z : !acc
}
