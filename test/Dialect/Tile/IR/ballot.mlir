// RUN: fovea-opt %s | fovea-opt | FileCheck %s

// CHECK-LABEL: func.func @ballot
// CHECK: %[[BITS:.*]] = tile.ballot %arg0 : tensor<1x32xi1, #tile.reg>
// CHECK-NEXT: return %[[BITS]] : i32
func.func @ballot(%flags: tensor<1x32xi1, #tile.reg>) -> i32 {
  %bits = tile.ballot %flags : tensor<1x32xi1, #tile.reg>
  return %bits : i32
}
