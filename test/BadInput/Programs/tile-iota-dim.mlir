// A tile has dimensions 0 and 1.
// RUN: %reject %s

func.func @f() {
  // expected-error @+1 {{found}}
  %r = tile.iota dim 2 : tensor<16x1xi32, #tile.reg>
  return
}
