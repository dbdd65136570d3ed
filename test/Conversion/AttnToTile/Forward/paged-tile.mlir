// A user-specified tile_n divides the page.
// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_n=96" --verify-diagnostics
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=tile_n=96" --verify-diagnostics

func.func @f(%q: tensor<2x4x?x32xf16>, %k: tensor<?x4x64x32xf16>, %v: tensor<?x4x64x32xf16>, %table: tensor<2x?xi32>,
             %n: tensor<2xi32>) -> tensor<2x4x?x32xf16> {
  // expected-error@+1 {{schedule's 'tile_n' must divide the pages of 64 rows, or be a multiple, found 96}}
  %o = attn.forward %q, %k, %v paged(%table, %n : tensor<2x?xi32>, tensor<2xi32>, page = 64)
    : tensor<2x4x?x32xf16>, tensor<?x4x64x32xf16>, tensor<?x4x64x32xf16> -> tensor<2x4x?x32xf16>
  return %o : tensor<2x4x?x32xf16>
}
