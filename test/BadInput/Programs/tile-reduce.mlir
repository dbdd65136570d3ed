// A reduction's extent divides its operand's.
// RUN: %reject %s

func.func @f(%x: tensor<16x8xf32, #tile.reg>) {
  // expected-error @+1 {{found}}
  %r = tile.reduce max dim 1 %x : tensor<16x8xf32, #tile.reg> to tensor<16x3xf32, #tile.reg>
  return
}
