// A box has a corner in every dimension.
// RUN: %reject %s

func.func @f(%m: memref<?x?x64xbf16>, %i: index, %k: memref<64x64xbf16, #warp.shared<row_bytes = 128>>) {
  // expected-error @+1 {{needs 3 indices, found 2}}
  warp.copy async %m[%i, %i] dims [1, 2] to %k : memref<?x?x64xbf16> to memref<64x64xbf16, #warp.shared<row_bytes = 128>>
  return
}
