// Rows and registers follow from the number of warp groups, unless they are user-specified.
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=warps=8" | FileCheck %s --check-prefix=TWO
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=warps=12,tile_n=80" | FileCheck %s --check-prefix=THREE
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=warps=8,producer_registers=56,consumer_registers=224" | FileCheck %s --check-prefix=ASKED
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=warps=8,tile_m=64" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=warps=6" 2>&1 | FileCheck %s --check-prefix=WARPS
// TWO-LABEL: launch.abi @f target(
// TWO: plan(<#warp.{{[a-z0-9_]+}}, tile_m = 128, tile_n = 64, warps = 8, {{.*}} roles = [<"load", warps = 4, registers = 40, owns = copies>, <"compute", warps = {{[0-9]+}}, registers = 232,
// THREE-LABEL: launch.abi @f target(
// THREE: plan(<#warp.{{[a-z0-9_]+}}, tile_m = 192, tile_n = 80, warps = 12, {{.*}} roles = [<"load", warps = 4, registers = 32, owns = copies>, <"compute", warps = {{[0-9]+}}, registers = 160,
// ASKED-LABEL: launch.abi @f target(
// ASKED: plan(<#warp.{{[a-z0-9_]+}}, tile_m = 128, tile_n = 64, warps = 8, {{.*}} roles = [<"load", warps = 4, registers = 56, owns = copies>, <"compute", warps = {{[0-9]+}}, registers = 224,
// ROWS: error: schedule's 'tile_m' must be 64 rows for each of 2 warp groups, found 64; use warps=4
// WARPS: error: schedule's 'warps' must be 4, 8, 12 or 16 in kernels with roles, found 6
func.func @f(%q: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  %o = attn.forward %q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16> -> tensor<1x1x?x64xbf16>
  return %o : tensor<1x1x?x64xbf16>
}
