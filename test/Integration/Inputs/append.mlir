// Programs of append.test.

!rows = tensor<?x3x24xbf16>
!values = tensor<?x3x16xbf16>
!keyCache = tensor<?x?x3x24xbf16>
!valueCache = tensor<?x?x3x16xbf16>

func.func @slots(%k: !rows, %v: !values, %kc: !keyCache, %vc: !valueCache, %slots: tensor<?xi64>) -> (!keyCache, !valueCache) {
  %0, %1 = attn.append (%k, %v) to (%kc, %vc) slots(%slots : tensor<?xi64>) : !rows, !values to !keyCache, !valueCache
  return %0, %1 : !keyCache, !valueCache
}

// Rows of more elements than a CTA copies at a time, in a flat cache of f32.
func.func @flat(%k: tensor<2x?x?x576xf32>, %kc: tensor<?x?x576xf32>, %slots: tensor<2x?xi32>) -> tensor<?x?x576xf32> {
  %0 = attn.append (%k) to (%kc) slots(%slots : tensor<2x?xi32>) : tensor<2x?x?x576xf32> to tensor<?x?x576xf32>
  return %0 : tensor<?x?x576xf32>
}

func.func @paged(%k: tensor<2x?x3x24xf16>, %kc: tensor<?x16x3x24xf16>, %table: tensor<2x?xi32>, %lengths: tensor<2xi32>) -> tensor<?x16x3x24xf16> {
  %0 = attn.append (%k) to (%kc) page_table(%table : tensor<2x?xi32>) lengths(%lengths : tensor<2xi32>)
    : tensor<2x?x3x24xf16> to tensor<?x16x3x24xf16>
  return %0 : tensor<?x16x3x24xf16>
}

func.func @packed(%k: tensor<?x3x24xf16>, %kc: tensor<?x16x3x24xf16>, %table: tensor<?x?xi32>, %lengths: tensor<?xi32>, %cu: tensor<?xi32>) -> tensor<?x16x3x24xf16> {
  %0 = attn.append (%k) to (%kc) page_table(%table : tensor<?x?xi32>) lengths(%lengths : tensor<?xi32>) offsets(%cu : tensor<?xi32>)
    : tensor<?x3x24xf16> to tensor<?x16x3x24xf16>
  return %0 : tensor<?x16x3x24xf16>
}

func.func @contiguous(%k: tensor<2x?x3x24xf16>, %kc: tensor<?x16x3x24xf16>, %lengths: tensor<2xi32>) -> tensor<?x16x3x24xf16> {
  %0 = attn.append (%k) to (%kc) lengths(%lengths : tensor<2xi32>) : tensor<2x?x3x24xf16> to tensor<?x16x3x24xf16>
  return %0 : tensor<?x16x3x24xf16>
}
