// A broadcast repeats extents of 1 only.
// RUN: %reject %s

func.func @f(%x: tensor<16x2xf32, #tile.reg>) {
  // expected-error @+1 {{cannot broadcast 'tensor<16x2xf32, #tile.reg>' to 'tensor<16x8xf32, #tile.reg>'}}
  %r = tile.broadcast %x : tensor<16x2xf32, #tile.reg> to tensor<16x8xf32, #tile.reg>
  return
}
