// Dots that use a part of the rows of `a` or of the columns of `b`.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics | FileCheck %s

!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!b = memref<64x256xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x128xf32, #tile.reg>
// CHECK-LABEL: @columns
func.func @columns(%a: !a, %b: !b, %acc: !acc) -> !acc {
  // CHECK: warp.dot async "c" %{{.*}}, %{{.*}}, %{{.*}} transpose_a columns(128) :
  %p = warp.dot async "c" %a, %b, %acc transpose_a columns(128) : !a, !b, !acc
  %r = warp.dot_wait %p : !warp.pending<!acc>
  return %r : !acc
}

// -----

!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!b = memref<64x256xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x128xf32, #tile.reg>
func.func @end(%a: !a, %b: !b, %acc: !acc) {
  // expected-error @+1 {{columns must be inside the operand, found 128 starting at 192 of 'memref<64x256xbf16, #warp.shared<row_bytes = 128>>'}}
  %r = warp.dot %a, %b, %acc columns(192) : !a, !b, !acc
  return
}

// -----

!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x32xf32, #tile.reg>
func.func @transposed(%a: !a, %acc: !acc) {
  // expected-error @+1 {{'columns' needs a second operand that is not transposed}}
  %r = warp.dot %a, %a, %acc transpose_b columns(0) : !a, !a, !acc
  return
}

// -----

!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!ones = memref<16x8xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x40xf32, #tile.reg>
func.func @ones(%a: !a, %acc: !acc) {
  %ones = warp.ones : !ones
  // expected-error @+1 {{cannot combine 'ones' and 'columns'}}
  %r = warp.dot %a, %a, %acc columns(0) ones(%ones : !ones) : !a, !a, !acc
  return
}

// -----

!a = memref<64x128xbf16, #warp.shared<row_bytes = 128>>
!b = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
// CHECK-LABEL: @rows
func.func @rows(%a: !a, %b: !b, %acc: !acc) -> !acc {
  // CHECK: warp.dot async "r" %{{.*}}, %{{.*}}, %{{.*}} transpose_a rows(64) :
  %p = warp.dot async "r" %a, %b, %acc transpose_a rows(64) : !a, !b, !acc
  %r = warp.dot_wait %p : !warp.pending<!acc>
  return %r : !acc
}

// -----

!a = memref<64x128xbf16, #warp.shared<row_bytes = 128>>
!b = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
func.func @last_rows(%a: !a, %b: !b, %acc: !acc) {
  // expected-error @+1 {{rows must be inside the operand, found 64 starting at 96 of 'memref<64x128xbf16, #warp.shared<row_bytes = 128>>'}}
  %r = warp.dot %a, %b, %acc transpose_a rows(96) : !a, !b, !acc
  return
}

// -----

!a = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!b = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
func.func @rows_as_they_are(%a: !a, %b: !b, %acc: !acc) {
  // expected-error @+1 {{'rows' needs a transposed first operand}}
  %r = warp.dot %a, %b, %acc rows(64) : !a, !b, !acc
  return
}
