// Tiles must divide blocks of block-sparse lists; the planner ensures it if possible.
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=128,warps=4" 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: schedule's 'tile_m' must divide the blocks of 192, found 128
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_n=64" 2>&1 | FileCheck %s --check-prefix=COLUMNS
// COLUMNS: error: schedule's 'tile_n' must divide the blocks of 48, found 64
// RUN: sed -e 's/192, 48/192, 40/' %s | not fovea-opt --attn-to-tile=target=sm_80 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: sed -e 's/192, 48/192, 40/' %s | not fovea-opt --attn-to-tile=target=sm_90a 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: error: blocks of queries and keys must be multiples of 16, found size = [192, 40]
// RUN: fovea-opt %s --attn-to-tile=target=sm_80 | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile=target=sm_90a | FileCheck %s --check-prefix=GROUPS
// RUN: sed -e 's/192, 48/48, 48/' %s | fovea-opt --attn-to-tile=target=sm_90a | FileCheck %s --check-prefix=ROWS48
// CHECK-LABEL: launch.abi @f target(
// CHECK: plan(<#warp.{{[a-z0-9_]+}}, tile_m = 96, tile_n = 48, warps = 3,
// GROUPS-LABEL: launch.abi @f target(
// GROUPS: plan(<#warp.wgmma_unit, tile_m = 192, tile_n = 48, warps = 12, {{.*}}roles
// ROWS48-LABEL: launch.abi @f target(
// ROWS48: plan(<#warp.{{[a-z0-9_]+}}, tile_m = 48, tile_n = 48, warps = 3, stages = 2, min_blocks = 2>
// No warp has more rows than registers allow, whatever divides the blocks.
// RUN: sed -e 's/192, 48/80, 256/' %s | fovea-opt --attn-to-tile=target=sm_80 | FileCheck %s --check-prefix=ROWS16
// RUN: sed -e 's/192, 48/112, 64/' %s | fovea-opt --attn-to-tile=target=sm_90a | FileCheck %s --check-prefix=ROWS16
// RUN: sed -e 's/192, 48/160, 32/' %s | fovea-opt --attn-to-tile=target=sm_80 | FileCheck %s --check-prefix=ROWS32
// RUN: sed -e 's/192, 48/320, 64/' %s | fovea-opt --attn-to-tile=target=sm_80 | FileCheck %s --check-prefix=ROWS64
// ROWS16-LABEL: launch.abi @f target(
// ROWS16: plan(<#warp.{{[a-z0-9_]+}}, tile_m = 16, tile_n = {{[0-9]+}}, warps = 1,
// ROWS32-LABEL: launch.abi @f target(
// ROWS32: plan(<#warp.{{[a-z0-9_]+}}, tile_m = 32, tile_n = 32, warps = 2,
// ROWS64-LABEL: launch.abi @f target(
// ROWS64: plan(<#warp.{{[a-z0-9_]+}}, tile_m = 64, tile_n = 64, warps = 4,

!t = tensor<1x1x?x64xf16>
func.func @f(%q: !t, %c: tensor<1x1x?xi32>, %i: tensor<1x1x?x?xi32>) -> !t {
  %o = attn.forward %q, %q, %q
    blocks(%c, %i : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, size = [192, 48]) : !t, !t, !t -> !t
  return %o : !t
}
