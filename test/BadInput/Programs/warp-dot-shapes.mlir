// Inner extents agree.
// RUN: %reject %s

func.func @f(%a: tensor<64x64xbf16, #tile.reg>, %b: memref<32x64xbf16, #warp.shared<row_bytes = 128>>, %c: tensor<64x64xf32, #tile.reg>) {
  // expected-error @+1 {{shapes do not form a matrix product}}
  %r = warp.dot %a, %b, %c : tensor<64x64xbf16, #tile.reg>, memref<32x64xbf16, #warp.shared<row_bytes = 128>>, tensor<64x64xf32, #tile.reg>
  return
}
