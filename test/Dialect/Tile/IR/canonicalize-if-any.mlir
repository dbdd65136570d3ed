// RUN: fovea-opt %s --canonicalize | FileCheck %s

!tile = tensor<16x64xf32, #tile.reg>

// No integer is less than INT_MIN: the body always runs.
// CHECK-LABEL: func @always(
// CHECK-SAME: %{{.*}}: tensor<16x8xi32, #tile.reg>, %[[X:.*]]: tensor<16x64xf32, #tile.reg>)
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[X]], %[[X]]
// CHECK-NEXT: return %[[Y]], %[[X]]
func.func @always(%bits: tensor<16x8xi32, #tile.reg>, %x: !tile) -> (!tile, !tile) {
  %least = arith.constant dense<-2147483648> : tensor<16x8xi32, #tile.reg>
  %c = arith.cmpi sge, %bits, %least : tensor<16x8xi32, #tile.reg>
  %r:2 = tile.if_any %c init(%x, %x : !tile, !tile) : tensor<16x8xi1, #tile.reg> {
  ^bb0(%a: !tile, %b: !tile):
    %y = arith.addf %a, %b : !tile
    tile.yield %y, %a : !tile, !tile
  }
  return %r#0, %r#1 : !tile, !tile
}

// CHECK-LABEL: func @known(
// CHECK-SAME: %[[X:.*]]: tensor<16x64xf32, #tile.reg>)
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func @known(%x: !tile) -> (!tile, !tile) {
  %no = arith.constant dense<false> : tensor<16x1xi1, #tile.reg>
  %never = tile.if_any %no init(%x : !tile) : tensor<16x1xi1, #tile.reg> {
  ^bb0(%a: !tile):
    %y = arith.addf %a, %a : !tile
    tile.yield %y : !tile
  }
  %yes = arith.constant dense<true> : tensor<16x1xi1, #tile.reg>
  %always = tile.if_any %yes init(%x : !tile) : tensor<16x1xi1, #tile.reg> {
  ^bb0(%a: !tile):
    %y = arith.mulf %a, %a : !tile
    tile.yield %y : !tile
  }
  return %never, %always : !tile, !tile
}

// Other bounds are unknown.
// CHECK-LABEL: func @unknown
// CHECK: tile.if_any
func.func @unknown(%bits: tensor<16x8xi32, #tile.reg>, %x: !tile) -> !tile {
  %bound = arith.constant dense<-2147483647> : tensor<16x8xi32, #tile.reg>
  %c = arith.cmpi sge, %bits, %bound : tensor<16x8xi32, #tile.reg>
  %r = tile.if_any %c init(%x : !tile) : tensor<16x8xi1, #tile.reg> {
  ^bb0(%a: !tile):
    %y = arith.addf %a, %a : !tile
    tile.yield %y : !tile
  }
  return %r : !tile
}

// Comparisons that always hold are folded in the body, too: here, the condition of a row.
// CHECK-LABEL: func @first(
// CHECK-SAME: %[[BITS:.*]]: tensor<16x1xi32, #tile.reg>, %[[GROWN:.*]]: tensor<16x1xi1, #tile.reg>)
// CHECK-NEXT: return %[[GROWN]]
func.func @first(%bits: tensor<16x1xi32, #tile.reg>, %grown: tensor<16x1xi1, #tile.reg>) -> tensor<16x1xi1, #tile.reg> {
  %least = arith.constant dense<-2147483648> : tensor<16x1xi32, #tile.reg>
  %no = arith.constant dense<false> : tensor<16x1xi1, #tile.reg>
  %c = arith.cmpi sge, %bits, %least : tensor<16x1xi32, #tile.reg>
  %r:2 = tile.if_any %c init(%least, %no : tensor<16x1xi32, #tile.reg>, tensor<16x1xi1, #tile.reg>) : tensor<16x1xi1, #tile.reg> {
  ^bb0(%top: tensor<16x1xi32, #tile.reg>, %b: tensor<16x1xi1, #tile.reg>):
    %asked = arith.cmpi sge, %bits, %top : tensor<16x1xi32, #tile.reg>
    %moved = arith.andi %grown, %asked : tensor<16x1xi1, #tile.reg>
    tile.yield %bits, %moved : tensor<16x1xi32, #tile.reg>, tensor<16x1xi1, #tile.reg>
  }
  return %r#1 : tensor<16x1xi1, #tile.reg>
}
