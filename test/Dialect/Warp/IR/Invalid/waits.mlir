// Asynchronous dots and their waits.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @f(%q: memref<128x64xbf16, #warp.shared<row_bytes = 128>>, %b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %c: tensor<128x64xf32, #warp.wgmma<groups = 2>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "warp.dot"(%q, %b, %c) <{async, transposeB}> : (memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, tensor<128x64xf32, #warp.wgmma<groups = 2>>) -> tensor<128x64xf32, #warp.wgmma<groups = 2>>
  return
}

// -----

func.func @f(%t: !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "warp.dot_wait"(%t) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>) -> tensor<128x32xf32, #warp.wgmma<groups = 2>>
  return
}

// -----

func.func @f(%t: tensor<128x64xf32, #warp.wgmma<groups = 2>>) {
  // expected-error@+1 {{a wait needs the result of an asynchronous dot}}
  %0 = warp.dot_wait %t : tensor<128x64xf32, #warp.wgmma<groups = 2>>
  return
}

// -----

func.func @f(%t: !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>, %x: tensor<128x64xbf16, #warp.wgmma<groups = 2>>) {
  // expected-error@+1 {{operand #1 must be variadic of}}
  %0 = warp.dot_wait %t above(%x : tensor<128x64xbf16, #warp.wgmma<groups = 2>>) : !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>
  return
}

// -----

func.func @f(%t: !warp.pending<tensor<4xf32>>) {
  // expected-error@+1 {{result #0 must be}}
  %0 = warp.dot_wait %t : !warp.pending<tensor<4xf32>>
  return
}

// -----

func.func @f(%t: !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>) {
  // expected-error@+1 {{operand #0 must be floating-point-like}}
  %0 = arith.addf %t, %t : !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{'warp.dot' op expected 3 or more operands, but found 0}}
  %0 = "warp.dot"() : () -> tensor<128x64xf32, #tile.reg>
  return
}
