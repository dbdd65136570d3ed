// A box has two different dimensions.
// RUN: %reject %s

func.func @f(%m: memref<?x64xbf16>, %i: index, %k: memref<64x64xbf16, #warp.shared<row_bytes = 128>>) {
  // expected-error @+1 {{dims must be two different dimensions of the source}}
  warp.copy async %m[%i, %i] dims [1, 1] to %k : memref<?x64xbf16> to memref<64x64xbf16, #warp.shared<row_bytes = 128>>
  return
}
