// RUN: fovea-opt %s --split-input-file --verify-diagnostics | fovea-opt --split-input-file | FileCheck %s

!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
// A dot accumulates into an outstanding dot.
// CHECK-LABEL: func @sum
func.func @sum(%b: !buffer, %zero: !acc) -> !acc {
  // CHECK: %[[P0:.*]] = warp.begin_sum %{{.*}} : tensor<64x64xf32, #tile.reg>
  %p0 = warp.begin_sum %zero : !acc
  // CHECK: %[[P1:.*]] = warp.dot async "c" %[[B:.*]], %[[B]], %[[P0]] : memref<64x64xbf16, #warp.shared<row_bytes = 128>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, !warp.pending<tensor<64x64xf32, #tile.reg>>
  %p1 = warp.dot async "c" %b, %b, %p0 : !buffer, !buffer, !warp.pending<!acc>
  %p2 = warp.dot async "c" %b, %b, %p1 : !buffer, !buffer, !warp.pending<!acc>
  // CHECK: warp.await_reads %[[P1]] : !warp.pending<tensor<64x64xf32, #tile.reg>>
  warp.await_reads %p1 : !warp.pending<!acc>
  %s = warp.dot_wait %p2 : !warp.pending<!acc>
  return %s : !acc
}

// -----

!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
func.func @synchronous(%b: !buffer, %zero: !acc) {
  %p0 = warp.begin_sum %zero : !acc
  // expected-error @+1 {{accumulates into an outstanding dot: expected 'async'}}
  %p1 = warp.dot %b, %b, %p0 : !buffer, !buffer, !warp.pending<!acc>
  return
}

// -----

!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
func.func @delivered(%b: !buffer, %zero: !acc) {
  %p0 = warp.dot async %b, %b, %zero : !buffer, !buffer, !acc
  // expected-error @+1 {{accumulates into an outstanding dot whose result has another use}}
  %p1 = warp.dot async %b, %b, %p0 : !buffer, !buffer, !warp.pending<!acc>
  // expected-note @+1 {{other use here}}
  %s = warp.dot_wait %p0 : !warp.pending<!acc>
  return
}

// -----

!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
func.func @shape(%b: !buffer, %wide: tensor<64x128xf32, #tile.reg>) {
  %p0 = warp.begin_sum %wide : tensor<64x128xf32, #tile.reg>
  // expected-error @+1 {{shapes do not form a matrix product}}
  %p1 = warp.dot async %b, %b, %p0 : !buffer, !buffer, !warp.pending<tensor<64x128xf32, #tile.reg>>
  return
}
