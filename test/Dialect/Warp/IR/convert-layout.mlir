// RUN: fovea-opt %s --split-input-file --canonicalize --allow-unregistered-dialect | FileCheck %s

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

// -----

!acc = tensor<64x32xf8E4M3FN, #warp.wgmma<groups = 1>>
!operand = tensor<64x32xf8E4M3FN, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>

// A loop that only converts a carried tile carries the converted one.
// CHECK-LABEL: func.func @carried
// CHECK: %[[FIRST:.*]] = warp.convert_layout permuted %{{.*}}
// CHECK: %[[LAST:.*]] = scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %[[FIRST]])
// CHECK-NEXT: "test.use"(%[[CARRIED]])
// CHECK-NEXT: %[[MADE:.*]] = "test.make"()
// CHECK-NEXT: %[[NEXT:.*]] = warp.convert_layout permuted %[[MADE]]
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: return %[[LAST]]
func.func @carried(%x: !acc, %n: index) -> !operand {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> !acc {
    %a = warp.convert_layout permuted %p : !acc to !operand
    "test.use"(%a) : (!operand) -> ()
    %made = "test.make"() : () -> !acc
    scf.yield %made : !acc
  }
  %r = warp.convert_layout permuted %last : !acc to !operand
  return %r : !operand
}

// Not if its result has another use.
// CHECK-LABEL: func.func @used
// CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %{{.*}}) -> (tensor<64x32xf8E4M3FN, #warp.wgmma<groups = 1>>)
// CHECK-NEXT: warp.convert_layout permuted %[[P]]
func.func @used(%x: !acc, %n: index) -> !acc {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> !acc {
    %a = warp.convert_layout permuted %p : !acc to !operand
    "test.use"(%a) : (!operand) -> ()
    %made = "test.make"() : () -> !acc
    scf.yield %made : !acc
  }
  return %last : !acc
}
