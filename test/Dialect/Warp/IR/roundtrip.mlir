// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --mlir-print-op-generic | fovea-opt | FileCheck %s

!buffer = memref<64x128xbf16, #warp.shared<row_bytes = 128>>
!staged = memref<2x64x128xbf16, #warp.shared<row_bytes = 128>>

// CHECK-LABEL: func private @shared_columns
// CHECK-SAME: tensor<64x8xf32, #warp.mma_sync<warps = 2>>, tensor<64x128xf32, #warp.mma_sync<warps = 2, column_warps = 4>>
func.func private @shared_columns(tensor<64x8xf32, #warp.mma_sync<warps = 2, column_warps = 1>>,
  tensor<64x128xf32, #warp.mma_sync<warps = 2, column_warps = 4>>)

// CHECK-LABEL: func @movement
// CHECK-SAME: %[[K:.*]]: memref<?x?x128xbf16>, %[[I:.*]]: index, %[[N:.*]]: index, %[[C:.*]]: i1, %[[STAGE:.*]]: i32
func.func @movement(%k: memref<?x?x128xbf16>, %i: index, %n: index, %c: i1, %stage: i32)
    -> tensor<64x128xbf16, #warp.mma_sync<warps = 4>> {
  // CHECK: %[[ALLOC:.*]] = warp.alloc : memref<2x64x128xbf16, #warp.shared<row_bytes = 128>>
  %staged = warp.alloc : !staged
  // CHECK: warp.alloc offset(2048) : memref<16x16xf16, #warp.shared<row_bytes = 32>>
  %placed = warp.alloc offset(2048) : memref<16x16xf16, #warp.shared<row_bytes = 32>>
  // The last panel is stored in full.
  // CHECK: warp.alloc : memref<16x96xbf16, #warp.shared<row_bytes = 128>>
  %ragged = warp.alloc : memref<16x96xbf16, #warp.shared<row_bytes = 128>>
  // CHECK: %[[VIEW:.*]] = warp.stage %[[ALLOC]][%[[STAGE]]] : memref<2x64x128xbf16, {{.*}}> to memref<64x128xbf16, #warp.shared<row_bytes = 128>>
  %view = warp.stage %staged[%stage] : !staged to !buffer
  // CHECK: warp.copy %[[K]][%[[I]], %[[I]], %[[I]]] dims [1, 2] to %[[VIEW]] : memref<?x?x128xbf16> to
  warp.copy %k[%i, %i, %i] dims [1, 2] to %view : memref<?x?x128xbf16> to !buffer
  // CHECK: warp.copy %[[K]][%[[I]], %[[I]], %[[I]]] dims [0, 2] fold [1, 4] to %[[VIEW]] : memref<?x?x128xbf16> to
  warp.copy %k[%i, %i, %i] dims [0, 2] fold [1, 4] to %view : memref<?x?x128xbf16> to !buffer
  // CHECK: warp.copy async %[[K]][%[[I]], %[[I]], %[[I]]] limit(%[[N]]) if(%[[C]]) dims [1, 2] to %[[VIEW]]
  warp.copy async %k[%i, %i, %i] limit(%n) if(%c) dims [1, 2] to %view : memref<?x?x128xbf16> to !buffer
  // CHECK: warp.zero_rows %[[VIEW]] from %[[N]] : memref<64x128xbf16, #warp.shared<row_bytes = 128>>
  warp.zero_rows %view from %n : !buffer
  // CHECK: warp.any %{{.*}} : tensor<64x128xi1, #warp.mma_sync<warps = 4>>
  %flags = arith.constant dense<true> : tensor<64x128xi1, #warp.mma_sync<warps = 4>>
  %any = warp.any %flags : tensor<64x128xi1, #warp.mma_sync<warps = 4>>
  // CHECK: warp.next_work %[[STAGE]] : index
  %work = warp.next_work %stage : index
  // CHECK: warp.local_load %[[VIEW]] : {{.*}} to tensor<64x128xbf16, #warp.mma_sync<warps = 4>>
  %tile = warp.local_load %view : !buffer to tensor<64x128xbf16, #warp.mma_sync<warps = 4>>
  return %tile : tensor<64x128xbf16, #warp.mma_sync<warps = 4>>
}

// CHECK-LABEL: func @transposed
// CHECK-SAME: %[[V:.*]]: memref<64x128xf8E4M3FN, #warp.shared<row_bytes = 128>>
func.func @transposed(%v: memref<64x128xf8E4M3FN, #warp.shared<row_bytes = 128>>) -> tensor<128x64xf8E4M3FN, #warp.row_pairs<warps = 4>> {
  // CHECK: warp.local_load transpose %[[V]] : memref<64x128xf8E4M3FN, {{.*}}> to tensor<128x64xf8E4M3FN, #warp.row_pairs<warps = 4>>
  %t = warp.local_load transpose %v : memref<64x128xf8E4M3FN, #warp.shared<row_bytes = 128>> to tensor<128x64xf8E4M3FN, #warp.row_pairs<warps = 4>>
  return %t : tensor<128x64xf8E4M3FN, #warp.row_pairs<warps = 4>>
}

// CHECK-LABEL: func @dots
// CHECK-SAME: %[[A:.*]]: tensor<64x128xbf16, #tile.reg>, %[[B:.*]]: memref<64x128xbf16, #warp.shared<row_bytes = 128>>, %[[S:.*]]: tensor<64x64xf32, #tile.reg>, %[[O:.*]]: tensor<64x128xf32, #tile.reg>
func.func @dots(%a: tensor<64x128xbf16, #tile.reg>, %b: !buffer, %s: tensor<64x64xf32, #tile.reg>,
                %o: tensor<64x128xf32, #tile.reg>, %p: tensor<64x64xbf16, #tile.reg>) {
  // CHECK: warp.dot %[[A]], %[[B]], %[[S]] transpose_b : tensor<64x128xbf16, #tile.reg>, memref
  %0 = warp.dot %a, %b, %s transpose_b : tensor<64x128xbf16, #tile.reg>, !buffer, tensor<64x64xf32, #tile.reg>
  // CHECK: warp.dot %[[B]], %[[B]], %[[S]] transpose_b : memref<64x128xbf16, {{.*}}>, memref
  %1 = warp.dot %b, %b, %s transpose_b : !buffer, !buffer, tensor<64x64xf32, #tile.reg>
  // CHECK: warp.dot %{{.*}}, %[[B]], %[[O]] : tensor<64x64xbf16, #tile.reg>, memref
  %2 = warp.dot %p, %b, %o : tensor<64x64xbf16, #tile.reg>, !buffer, tensor<64x128xf32, #tile.reg>
  return
}

// CHECK-LABEL: func @ones
func.func @ones(%a: tensor<64x32xbf16, #tile.reg>, %b: memref<32x64xbf16, #warp.shared<row_bytes = 128>>,
                %c: tensor<64x72xf32, #tile.reg>) {
  // CHECK: %[[ONES:.*]] = warp.ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>
  %ones = warp.ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>
  // CHECK: warp.ones offset(2048) : memref<16x8xf16, #warp.shared<row_bytes = 32>>
  %placed = warp.ones offset(2048) : memref<16x8xf16, #warp.shared<row_bytes = 32>>
  // CHECK: warp.dot %{{.*}}, %{{.*}}, %{{.*}} ones(%[[ONES]] : memref<16x8xbf16, #warp.shared<row_bytes = 128>>) : tensor<64x32xbf16, #tile.reg>, memref<32x64xbf16, #warp.shared<row_bytes = 128>>, tensor<64x72xf32, #tile.reg>
  %0 = warp.dot %a, %b, %c ones(%ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>) : tensor<64x32xbf16, #tile.reg>, memref<32x64xbf16, #warp.shared<row_bytes = 128>>, tensor<64x72xf32, #tile.reg>
  return
}

// CHECK-LABEL: func @pipelines
// CHECK-SAME: %[[STAGE:.*]]: i32, %[[PHASE:.*]]: i32
func.func @pipelines(%stage: i32, %phase: i32) {
  // CHECK: %[[P:.*]] = warp.pipeline : !warp.pipeline<3>
  %p = warp.pipeline : !warp.pipeline<3>
  // CHECK: warp.producer_acquire %[[P]][%[[STAGE]], %[[PHASE]]] : !warp.pipeline<3>
  warp.producer_acquire %p[%stage, %phase] : !warp.pipeline<3>
  // CHECK: warp.producer_commit %[[P]][%[[STAGE]], %[[PHASE]]] : !warp.pipeline<3>
  warp.producer_commit %p[%stage, %phase] : !warp.pipeline<3>
  // CHECK: warp.consumer_wait %[[P]][%[[STAGE]], %[[PHASE]]] : !warp.pipeline<3>
  warp.consumer_wait %p[%stage, %phase] : !warp.pipeline<3>
  // CHECK: warp.consumer_release %[[P]][%[[STAGE]], %[[PHASE]]] : !warp.pipeline<3>
  warp.consumer_release %p[%stage, %phase] : !warp.pipeline<3>
  return
}

// CHECK-LABEL: func @layouts
func.func @layouts(
    // CHECK-SAME: tensor<1x64xf32, #warp.mma_sync<warps = 4>>
    %column: tensor<1x64xf32, #warp.mma_sync<warps = 4>>,
    // CHECK-SAME: tensor<64x1xf32, #warp.mma_sync<warps = 4>>
    %row: tensor<64x1xf32, #warp.mma_sync<warps = 4>>,
    // CHECK-SAME: tensor<512x8xf32, #warp.mma_sync<warps = 32>>
    %most: tensor<512x8xf32, #warp.mma_sync<warps = 32>>) {
  return
}
