// A tile has two dimensions.
// RUN: %reject %s

func.func @f() {
  // expected-error @+1 {{found}}
  %r = tile.iota dim 0 : tensor<16xi32, #tile.reg>
  return
}
