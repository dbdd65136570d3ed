// RUN: fovea-opt %s --split-input-file --verify-diagnostics | fovea-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @diagonals
// CHECK: tile.diagonals %arg0 : tensor<1x192xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
func.func @diagonals(%d: tensor<1x192xf32, #tile.reg>) -> tensor<128x64xf32, #tile.reg> {
  %x = tile.diagonals %d : tensor<1x192xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
  return %x : tensor<128x64xf32, #tile.reg>
}

// -----

func.func @few(%d: tensor<1x191xf32, #tile.reg>) {
  // expected-error@+1 {{source must be a column tile of 192 for the relative positions of 'tensor<128x64xf32, #tile.reg>', found 'tensor<1x191xf32, #tile.reg>'}}
  %x = tile.diagonals %d : tensor<1x191xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
  return
}

// -----

func.func @rows(%d: tensor<192x1xf32, #tile.reg>) {
  // expected-error@+1 {{source must be a column tile of 192}}
  %x = tile.diagonals %d : tensor<192x1xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
  return
}

// -----

func.func @types(%d: tensor<1x192xi32, #tile.reg>) {
  // expected-error@+1 {{source and result must have the same element type, found 'tensor<1x192xi32, #tile.reg>' and 'tensor<128x64xf32, #tile.reg>'}}
  %x = tile.diagonals %d : tensor<1x192xi32, #tile.reg> to tensor<128x64xf32, #tile.reg>
  return
}
