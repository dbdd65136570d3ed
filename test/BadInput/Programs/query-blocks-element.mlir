// Transposed block lists of i64.
// RUN: %reject %s

!t = tensor<1x2x64x16xf16>
!rows = tensor<1x2x64xf32>
func.func @f(%q: !t, %lse: !rows, %c: tensor<1x1x1xi32>, %i: tensor<1x1x1x1xi32>, %wide: tensor<1x1x1x1xi64>) -> !t {
  // expected-error @+1 {{'partial_query_index' must be an i32 tensor of rank 4, found 'tensor<1x1x1x1xi64>'}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(v)
    blocks(%c, %i : tensor<1x1x1xi32>, tensor<1x1x1x1xi32>, size = [64, 64])
    query_blocks(%c, %wide : tensor<1x1x1xi32>, tensor<1x1x1x1xi64>) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}
