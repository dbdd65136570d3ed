// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --mlir-print-op-generic | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --canonicalize --cse | FileCheck %s

!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!sums = memref<64x32xf32, #warp.shared<row_bytes = 128>>

// These ops have side effects: none is removed or merged.
// CHECK-LABEL: func @output
// CHECK-SAME: %[[O:.*]]: memref<?x?x64xbf16>, %[[D:.*]]: memref<64x32xf32>, %[[X:.*]]: tensor<64x64xbf16, #tile.reg>, %[[B:.*]]: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %[[S:.*]]: memref<64x32xf32, #warp.shared<row_bytes = 128>>, %[[I:.*]]: index
func.func @output(%o: memref<?x?x64xbf16>, %d: memref<64x32xf32>, %x: tensor<64x64xbf16, #tile.reg>, %b: !buffer, %s: !sums, %i: index) {
  // CHECK-NEXT: warp.local_store %[[X]] to %[[B]] : tensor<64x64xbf16, #tile.reg>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>
  warp.local_store %x to %b : tensor<64x64xbf16, #tile.reg>, !buffer
  // CHECK-NEXT: warp.fence_stores %[[B]] : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
  warp.fence_stores %b : !buffer
  // CHECK-NEXT: warp.copy_out %[[B]] to %[[O]][%[[I]], %[[I]], %[[I]]] dims [1, 2] : memref<64x64xbf16, #warp.shared<row_bytes = 128>> to memref<?x?x64xbf16>
  warp.copy_out %b to %o[%i, %i, %i] dims [1, 2] : !buffer to memref<?x?x64xbf16>
  // CHECK-NEXT: warp.copy_out async %[[B]] to %[[O]][%[[I]], %[[I]], %[[I]]] dims [1, 2] fold [0, 4] : memref<64x64xbf16
  warp.copy_out async %b to %o[%i, %i, %i] dims [1, 2] fold [0, 4] : !buffer to memref<?x?x64xbf16>
  // CHECK-NEXT: warp.copy_out_wait %[[B]] : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
  warp.copy_out_wait %b : !buffer
  // CHECK-NEXT: warp.copy_out async add %[[S]] to %[[D]][%[[I]], %[[I]]] dims [0, 1] : memref<64x32xf32, #warp.shared<row_bytes = 128>> to memref<64x32xf32>
  warp.copy_out async add %s to %d[%i, %i] dims [0, 1] : !sums to memref<64x32xf32>
  // CHECK-NEXT: warp.copy_out_wait written %[[S]] : memref<64x32xf32, #warp.shared<row_bytes = 128>>
  warp.copy_out_wait written %s : !sums
  // CHECK-NEXT: return
  return
}

// A tile with a part of the buffer's columns.
// CHECK-LABEL: func.func @columns
func.func @columns(%x: tensor<64x32xbf16, #tile.reg>, %b: !buffer) {
  // CHECK: warp.local_store "y" %{{.*}} to %{{.*}} column(32) : tensor<64x32xbf16, #tile.reg>, memref<64x64xbf16
  warp.local_store "y" %x to %b column(32) : tensor<64x32xbf16, #tile.reg>, !buffer
  return
}

// Adds in fragment order, contiguous for the rows of each warp.
// CHECK-LABEL: func.func @sums
func.func @sums(%x: tensor<64x64xf32, #tile.reg>, %m: memref<?x?x256xf32>, %i: index) {
  %b = warp.alloc : memref<64x64xf32, #warp.shared<row_bytes = 128>>
  // CHECK: warp.local_store "sum" %{{.*}} fragments to %{{.*}} : tensor<64x64xf32, #tile.reg>, memref<64x64xf32
  warp.local_store "sum" %x fragments to %b : tensor<64x64xf32, #tile.reg>, memref<64x64xf32, #warp.shared<row_bytes = 128>>
  // CHECK: warp.copy_out async add "sum" %{{.*}} to %{{.*}} dims [1, 2] fragments : memref<64x64xf32
  warp.copy_out async add "sum" %b to %m[%i, %i, %i] dims [1, 2] fragments : memref<64x64xf32, #warp.shared<row_bytes = 128>> to memref<?x?x256xf32>
  return
}
