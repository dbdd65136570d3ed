// A load converts nothing.
// RUN: %reject %s

func.func @f(%m: memref<?x?xf32>, %i: index) {
  // expected-error @+1 {{element}}
  %r = tile.load %m[%i, %i] dims [0, 1] : memref<?x?xf32> to tensor<16x8xbf16, #tile.reg>
  return
}
