// RUN: fovea-opt %s --cse --canonicalize | FileCheck %s

!buffer = memref<16x16xbf16, #warp.shared<row_bytes = 32>>
!tile = tensor<16x16xbf16, #tile.reg>

// Two loads of a buffer are merged unless a wait is between them.
// CHECK-LABEL: func @loads
func.func @loads(%b: !buffer, %p: !warp.pipeline<1>, %z: i32) -> (!tile, !tile, !tile) {
  // CHECK: %[[X:.*]] = warp.local_load
  // CHECK-NOT: warp.local_load
  // CHECK: warp.consumer_wait
  // CHECK: %[[Z:.*]] = warp.local_load
  // CHECK: return %[[X]], %[[X]], %[[Z]]
  %x = warp.local_load %b : !buffer to !tile
  %y = warp.local_load %b : !buffer to !tile
  warp.consumer_wait %p[%z, %z] : !warp.pipeline<1>
  %w = warp.local_load %b : !buffer to !tile
  return %x, %y, %w : !tile, !tile, !tile
}

// Unused results are removed; copies and pipeline ops stay.
// CHECK-LABEL: func @unused
func.func @unused(%k: memref<16x16xbf16>, %acc: tensor<16x16xf32, #tile.reg>, %p: !warp.pipeline<1>, %z: i32) {
  %c0 = arith.constant 0 : index
  // CHECK: warp.alloc
  // CHECK-NOT: warp.alloc
  %b = warp.alloc : !buffer
  %unused = warp.alloc : !buffer
  // CHECK: warp.producer_acquire
  // CHECK-NEXT: warp.copy
  // CHECK-NEXT: warp.producer_commit
  warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
  warp.copy async %k[%c0, %c0] dims [0, 1] to %b : memref<16x16xbf16> to !buffer
  warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
  // CHECK-NEXT: return
  %x = warp.local_load %b : !buffer to !tile
  %d = warp.dot %x, %b, %acc : !tile, !buffer, tensor<16x16xf32, #tile.reg>
  return
}
