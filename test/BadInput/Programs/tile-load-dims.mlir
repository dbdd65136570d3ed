// One memref dimension for each of the tile's.
// RUN: %reject %s

func.func @f(%m: memref<?x?xf32>, %i: index) {
  // expected-error @+1 {{dims}}
  %r = tile.load %m[%i, %i] dims [0] : memref<?x?xf32> to tensor<16x8xf32, #tile.reg>
  return
}
