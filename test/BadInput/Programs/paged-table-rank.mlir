// A page table has a row a batch entry.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<8x4x16x32xbf16>, %v: tensor<8x4x16x32xbf16>, %t: tensor<8xi32>, %n: tensor<2xi32>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{'page_table' must be an i32 tensor of rank 2}}
  %o = attn.forward %q, %k, %v paged(%t, %n : tensor<8xi32>, tensor<2xi32>, page = 16)
    : tensor<2x4x64x32xbf16>, tensor<8x4x16x32xbf16>, tensor<8x4x16x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
