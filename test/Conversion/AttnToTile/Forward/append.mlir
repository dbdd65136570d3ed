// RUN: fovea-opt %s --attn-to-tile=target=sm_80 --split-input-file -verify-diagnostics | FileCheck %s

// One work item per new row. A slot is compared in 64 bits; a row without a valid slot gets page -1.
// CHECK: launch.abi @slots
// CHECK-SAME: #launch.tensor<"k", read, tensor<?x8x128xbf16>, ["T", "Hkv", "D"], 16>
// CHECK-SAME: #launch.tensor<"k_cache", update, tensor<?x64x8x128xbf16>, ["pages", "page", "Hkv", "D"], 16>
// CHECK-SAME: #launch.tensor<"v_cache", update, tensor<?x64x8x128xbf16>
// CHECK-SAME: #launch.tensor<"slots", read, tensor<?xi64>, ["T"], 8>
// CHECK-LABEL: gpu.func @slots
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x8x128xbf16{{[^%]*}}%[[V:[a-z0-9]+]]: memref<?x8x128xbf16{{[^%]*}}%[[KC:[a-z0-9_]+]]: memref<?x64x8x128xbf16{{[^%]*}}%[[VC:[a-z0-9_]+]]: memref<?x64x8x128xbf16{{[^%]*}}%[[S:[a-z0-9]+]]: memref<?xi64
// CHECK-NOT: memref<?x64
// CHECK: tile.foreach_work
// CHECK: %[[SLOT:.*]] = memref.load %[[S]][%[[ROW:[a-z0-9_]+]]]
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[SLOT]], %{{.*}} : i64
// CHECK: %[[VALID:.*]] = arith.select %[[EXISTS]], %[[SLOT]], %{{.*}} : i64
// CHECK: %[[NUMBER:.*]] = arith.divui %[[VALID]], %{{.*}} : i64
// CHECK: %[[PAGE64:.*]] = arith.select %[[EXISTS]], %[[NUMBER]], %{{.*}} : i64
// CHECK: %[[PAGE:.*]] = arith.index_cast %[[PAGE64]] : i64 to index
// CHECK: %[[REST:.*]] = arith.remui %[[VALID]], %{{.*}} : i64
// CHECK: %[[INSIDE:.*]] = arith.index_cast %[[REST]] : i64 to index
// CHECK: tile.copy_rows %[[K]], %[[V]][%[[ROW]]] to %[[KC]], %[[VC]][%[[PAGE]], %[[INSIDE]]]
!rows = tensor<?x8x128xbf16>
!cache = tensor<?x64x8x128xbf16>
func.func @slots(%k: !rows, %v: !rows, %kc: !cache, %vc: !cache, %slots: tensor<?xi64>) -> (!cache, !cache) {
  %0, %1 = attn.append (%k, %v) to (%kc, %vc) slots(%slots : tensor<?xi64>) : !rows, !rows to !cache, !cache
  return %0, %1 : !cache, !cache
}

// -----

// The entry of the page of position lengths[b] + t.
// CHECK: launch.abi @paged
// CHECK-SAME: grid(["S"]
// CHECK-LABEL: gpu.func @paged
// CHECK: %[[LENGTH:.*]] = memref.load %arg3[%[[B:[a-z0-9_]+]]] : memref<4xi32
// CHECK: %[[WIDE:.*]] = arith.extsi %[[LENGTH]] : i32 to i64
// CHECK: %[[POSITION:.*]] = arith.addi %[[WIDE]], %{{.*}} : i64
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[POSITION]], %{{.*}} : i64
// CHECK: %[[ENTRY:.*]] = memref.load %arg2[%[[B]], %{{.*}}] : memref<4x?xi32
// CHECK: %[[ENTRY64:.*]] = arith.extsi %[[ENTRY]] : i32 to i64
// CHECK: arith.select %[[EXISTS]], %[[ENTRY64]], %{{.*}} : i64
// CHECK: tile.copy_rows %arg0[%[[B]], %{{.*}}] to %arg1
func.func @paged(%k: tensor<4x?x8x128xbf16>, %kc: tensor<?x64x8x128xbf16>, %table: tensor<4x?xi32>, %lengths: tensor<4xi32>) -> tensor<?x64x8x128xbf16> {
  %0 = attn.append (%k) to (%kc) page_table(%table : tensor<4x?xi32>) lengths(%lengths : tensor<4xi32>)
    : tensor<4x?x8x128xbf16> to tensor<?x64x8x128xbf16>
  return %0 : tensor<?x64x8x128xbf16>
}

// -----

// A bisection finds the sequence of a packed row.
// CHECK-LABEL: gpu.func @packed
// CHECK: scf.while
// CHECK: memref.load %arg3
// CHECK: tile.copy_rows
func.func @packed(%k: tensor<?x8x128xbf16>, %kc: tensor<?x64x8x128xbf16>, %lengths: tensor<?xi32>, %cu: tensor<?xi32>) -> tensor<?x64x8x128xbf16> {
  %0 = attn.append (%k) to (%kc) lengths(%lengths : tensor<?xi32>) offsets(%cu : tensor<?xi32>)
    : tensor<?x8x128xbf16> to tensor<?x64x8x128xbf16>
  return %0 : tensor<?x64x8x128xbf16>
}

// -----

func.func @ragged(%k: tensor<?x8x100xbf16>, %kc: tensor<?x8x100xbf16>, %slots: tensor<?xi64>) -> tensor<?x8x100xbf16> {
  // expected-error@+1 {{head dims must be multiples of 8 up to 4096, found 'tensor<?x8x100xbf16>'}}
  %0 = attn.append (%k) to (%kc) slots(%slots : tensor<?xi64>) : tensor<?x8x100xbf16> to tensor<?x8x100xbf16>
  return %0 : tensor<?x8x100xbf16>
}
