// RUN: fovea-opt %s -split-input-file -verify-diagnostics

func.func @empty(%k: memref<64x64xbf16>, %i: index) {
  // expected-error @+1 {{name must be words of letters, digits and underscores, separated by dots, found ""}}
  %t = tile.load "" %k[%i, %i] dims [0, 1] : memref<64x64xbf16> to tensor<64x64xbf16, #tile.reg>
  return
}

// -----

func.func @words(%t: tensor<64x64xbf16, #tile.reg>, %s: tensor<64x64xf32, #tile.reg>) {
  // expected-error @+1 {{name must be words of letters, digits and underscores, separated by dots, found "a..b"}}
  %r = tile.dot "a..b" %t, %t, %s : tensor<64x64xbf16, #tile.reg>, tensor<64x64xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
  return
}

// -----

func.func @pipeline() {
  // expected-error @+1 {{name must be words of letters, digits and underscores, separated by dots, found "@k"}}
  %p = warp.pipeline "@k" : !warp.pipeline<2>
  return
}
