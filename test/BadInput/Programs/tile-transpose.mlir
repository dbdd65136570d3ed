// A transposition swaps the extents.
// RUN: %reject %s

func.func @f(%x: tensor<16x8xf32, #tile.reg>) {
  // expected-error @+1 {{result must be the source with its extents swapped}}
  %t = tile.transpose %x : tensor<16x8xf32, #tile.reg> to tensor<8x8xf32, #tile.reg>
  return
}
