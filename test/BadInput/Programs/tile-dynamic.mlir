// A tile's size is known.
// RUN: %reject %s

func.func @f() {
  // expected-error @+1 {{a register tile must have static extents}}
  %r = tile.iota dim 0 : tensor<?x1xi32, #tile.reg>
  return
}
