// A tile has an encoding.
// RUN: %reject %s

func.func @f() {
  // expected-error @+1 {{must be register tile}}
  %r = tile.iota dim 0 : tensor<16x1xi32>
  return
}
