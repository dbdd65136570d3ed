// Reductions add or take the maximum.
// RUN: %reject %s

func.func @f(%x: tensor<16x8xf32, #tile.reg>) {
  // expected-error @+1 {{expected}}
  %r = tile.reduce median dim 1 %x : tensor<16x8xf32, #tile.reg> to tensor<16x1xf32, #tile.reg>
  return
}
