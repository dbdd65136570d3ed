// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --mlir-print-op-generic | fovea-opt | FileCheck %s

!rows = tensor<?x8x128xbf16>
!cache = tensor<?x64x8x128xbf16>

// CHECK-LABEL: func.func @slots
func.func @slots(%k: !rows, %v: !rows, %kc: !cache, %vc: !cache, %slots: tensor<?xi64>) -> (!cache, !cache) {
  // CHECK: %k_cache, %v_cache = attn.append (%{{.*}}, %{{.*}}) to (%{{.*}}, %{{.*}}) slots(%{{.*}} : tensor<?xi64>) : tensor<?x8x128xbf16>, tensor<?x8x128xbf16> to tensor<?x64x8x128xbf16>, tensor<?x64x8x128xbf16>
  %0, %1 = attn.append (%k, %v) to (%kc, %vc) slots(%slots : tensor<?xi64>) : !rows, !rows to !cache, !cache
  return %0, %1 : !cache, !cache
}

// A flat cache of keys only; new rows of (batch, sequence).
// CHECK-LABEL: func.func @flat
func.func @flat(%k: tensor<2x?x1x64xf32>, %kc: tensor<?x1x64xf32>, %slots: tensor<2x?xi32>) -> tensor<?x1x64xf32> {
  // CHECK: %k_cache = attn.append (%{{.*}}) to (%{{.*}}) slots(%{{.*}} : tensor<2x?xi32>) : tensor<2x?x1x64xf32> to tensor<?x1x64xf32>
  %0 = attn.append (%k) to (%kc) slots(%slots : tensor<2x?xi32>) : tensor<2x?x1x64xf32> to tensor<?x1x64xf32>
  return %0 : tensor<?x1x64xf32>
}

// CHECK-LABEL: func.func @paged
func.func @paged(%k: tensor<4x?x8x128xbf16>, %v: tensor<4x?x8x64xbf16>, %kc: !cache, %vc: tensor<?x64x8x64xbf16>,
                 %table: tensor<4x?xi32>, %lengths: tensor<4xi32>) -> (!cache, tensor<?x64x8x64xbf16>) {
  // CHECK: attn.append ({{.*}}) to ({{.*}}) page_table(%{{.*}} : tensor<4x?xi32>) lengths(%{{.*}} : tensor<4xi32>)
  %0, %1 = attn.append (%k, %v) to (%kc, %vc) page_table(%table : tensor<4x?xi32>) lengths(%lengths : tensor<4xi32>)
    : tensor<4x?x8x128xbf16>, tensor<4x?x8x64xbf16> to !cache, tensor<?x64x8x64xbf16>
  return %0, %1 : !cache, tensor<?x64x8x64xbf16>
}

// CHECK-LABEL: func.func @packed
func.func @packed(%k: !rows, %v: !rows, %kc: !cache, %vc: !cache, %lengths: tensor<4xi32>, %cu: tensor<5xi32>) -> (!cache, !cache) {
  // CHECK: attn.append ({{.*}}) to ({{.*}}) lengths(%{{.*}} : tensor<4xi32>) offsets(%{{.*}} : tensor<5xi32>)
  %0, %1 = attn.append (%k, %v) to (%kc, %vc) lengths(%lengths : tensor<4xi32>) offsets(%cu : tensor<5xi32>) : !rows, !rows to !cache, !cache
  return %0, %1 : !cache, !cache
}
