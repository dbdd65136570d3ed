// Softmax states with several accumulators: one tile of values for each, or one for all.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics | fovea-opt --split-input-file | FileCheck %s

!row = tensor<16x1xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
!narrow = tensor<16x16xf32, #tile.reg>
// CHECK-LABEL: func.func @parts(
func.func @parts(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>,
                 %w: tensor<64x16xbf16, #tile.reg>, %k: tensor<64x80xbf16, #tile.reg>) {
  // CHECK: %[[M:.*]], %[[L:.*]], %[[ACC:.*]]:2 = tile.softmax_sum "o" %{{.*}} to
  %m, %l, %acc:2 = tile.softmax_sum "o" %i to %i step 64 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      // CHECK: tile.yield %{{.*}}, %{{.*}} : tensor<64x32xbf16, #tile.reg>, tensor<64x16xbf16, #tile.reg>
      tile.yield %v, %w : tensor<64x32xbf16, #tile.reg>, tensor<64x16xbf16, #tile.reg>
    // CHECK: : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>, tensor<16x16xf32, #tile.reg>
    } : !row, !acc, !narrow
  // CHECK: tile.softmax_sum
  %m1, %l1, %acc1:2 = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      // CHECK: tile.yield %{{.*}} : tensor<64x80xbf16, #tile.reg>
      tile.yield %k : tensor<64x80xbf16, #tile.reg>
    } : !row, !acc, !narrow
  // CHECK: %[[M2:.*]], %[[L2:.*]], %[[ACC2:.*]]:2 = tile.softmax_merge(%[[M]], %[[L]], %[[ACC]]#0, %[[ACC]]#1), (%
  %m2, %l2, %acc2:2 = tile.softmax_merge (%m, %l, %acc#0, %acc#1), (%m1, %l1, %acc1#0, %acc1#1) : !row, !row, !acc, !narrow
  // CHECK: %{{.*}}:2, %{{.*}} = tile.softmax_finish %[[M2]], %[[L2]], %[[ACC2]]#0, %[[ACC2]]#1 : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>, tensor<16x16xf32, #tile.reg>
  %o:2, %lse = tile.softmax_finish %m2, %l2, %acc2#0, %acc2#1 : !row, !acc, !narrow
  return
}

// -----

!row = tensor<16x1xf32, #tile.reg>
func.func @no_accumulator(%m: !row) {
  // expected-error@+1 {{expected at least one accumulator}}
  %lse = "tile.softmax_finish"(%m, %m) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!row, !row) -> !row
  return
}

// -----

func.func @rows(%m: tensor<16x1xf32, #tile.reg>, %a: tensor<16x32xf32, #tile.reg>, %b: tensor<8x32xf32, #tile.reg>) {
  // expected-error@+1 {{m and l must be row tiles of the accumulator's 8 rows}}
  %o:2, %lse = tile.softmax_finish %m, %m, %a, %b : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>, tensor<8x32xf32, #tile.reg>
  return
}

// -----

!row = tensor<16x1xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
func.func @few_columns(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x48xbf16, #tile.reg>) {
  %m, %l, %acc:2 = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      // expected-error@+1 {{in values must yield tiles of 64 rows and one float type of at most 32 bits, one with the columns of each accumulator or one with at least 64 columns, found 'tensor<64x48xbf16, #tile.reg>'}}
      tile.yield %v : tensor<64x48xbf16, #tile.reg>
    } : !row, !acc, !acc
  return
}

// -----

!row = tensor<16x1xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
func.func @types(%i: index, %s: tensor<16x64xf32, #tile.reg>, %v: tensor<64x32xbf16, #tile.reg>, %w: tensor<64x32xf16, #tile.reg>) {
  %m, %l, %acc:2 = tile.softmax_sum %i to %i step 64 full(%i, %i) scale(1.0)
    scores(%j: index, %p: i1) {
      tile.yield %s : tensor<16x64xf32, #tile.reg>
    }
    values(%j: index) {
      // expected-error@+1 {{in values must yield tiles of 64 rows and one float type of at most 32 bits}}
      tile.yield %v, %w : tensor<64x32xbf16, #tile.reg>, tensor<64x32xf16, #tile.reg>
    } : !row, !acc, !acc
  return
}

// -----

!row = tensor<16x1xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
func.func @different_states(%m: !row, %a: !acc, %b: tensor<16x16xf32, #tile.reg>) {
  // expected-error@+1 {{both states must have the same accumulators}}
  %r:3 = "tile.softmax_merge"(%m, %m, %a, %m, %m, %b) : (!row, !row, !acc, !row, !row, tensor<16x16xf32, #tile.reg>) -> (!row, !row, !acc)
  return
}
