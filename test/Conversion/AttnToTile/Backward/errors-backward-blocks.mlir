// Tiles must divide blocks of block-sparse lists; so must a requested size.
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_n=64" 2>&1 | FileCheck %s --check-prefix=KEYS
// KEYS: error: schedule's 'tile_n' must divide the blocks of 48, found 64
// RUN: sed -e 's/192, 48/96, 192/' %s | not fovea-opt --attn-to-tile="target=sm_80 schedule=tile_n=64" 2>&1 | FileCheck %s --check-prefix=QUERIES
// QUERIES: error: schedule's 'tile_n' must divide the blocks of 96, found 64
// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_n=16" | FileCheck %s
// CHECK-LABEL: launch.abi @f target(
// CHECK: plan(<#warp.mma_sync_unit, tile_m = 48, tile_n = 16, warps = 3,
// CHECK-LABEL: launch.abi @f_queries target(
// CHECK: plan(<#warp.mma_sync_unit, tile_m = 64, tile_n = 16, warps = 4,

!t = tensor<1x1x?x64xf16>
!rows = tensor<1x1x?xf32>
func.func @f(%q: !t, %lse: !rows, %c: tensor<1x1x?xi32>, %i: tensor<1x1x?x?xi32>) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %q, %q, %q, %lse, %q
    blocks(%c, %i : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, size = [192, 48]) : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
