// Errors of the pass's options.
// RUN: not fovea-opt %s --attn-to-tile=target=sm_75 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: option 'target': unknown target 'sm_75', expected one of 'sm_80',
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_k=32" 2>&1 | FileCheck %s --check-prefix=FIELD
// FIELD: error: unknown schedule field 'tile_k', expected tile_m, {{.*}} or row_tiles
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=big" 2>&1 | FileCheck %s --check-prefix=INTEGER
// INTEGER: error: schedule's 'tile_m' must be an integer, found 'big'
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=score_stages=-9223372036854775808" 2>&1 | FileCheck %s --check-prefix=HUGE
// HUGE: error: schedule's 'score_stages' must be at most 32768 in magnitude, found -9223372036854775808
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m" 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: schedule's 'tile_m' must be an integer, found ''
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=stages=0" 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: error: schedule's 'stages' must be in [1, 32], found 0
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=stages=9" 2>&1 | FileCheck %s --check-prefix=MANY_STAGES
// MANY_STAGES: error: schedule's 'stages' must be at most 8, found 9
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=query_in_registers=2" 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: error: schedule's 'query_in_registers' must be in [0, 1], found 2
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=512,warps=32" 2>&1 | FileCheck %s --check-prefix=WARPS
// WARPS: error: schedule's 'warps' must be at most 16, found 32
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=96,warps=4" 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: schedule's 'tile_m' must be a multiple of 16 rows for each of 4 warps, found 96
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_n=24" 2>&1 | FileCheck %s --check-prefix=COLUMNS
// COLUMNS: error: schedule's 'tile_n' must be a multiple of 16, found 24
// RUN: not fovea-opt %s --attn-to-tile="target=sm_86 schedule=tile_m=64,tile_n=256,warps=4,stages=8" 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: error: schedule needs 133120 bytes of shared memory, but 'sm_86' has 101376: reduce 'tile_m', 'tile_n' or 'stages'
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=128,tile_n=256,warps=4,stages=1" 2>&1 | FileCheck %s --check-prefix=REGISTERS
// REGISTERS: error: schedule needs {{[0-9]+}} registers per thread for its tiles, but at most 224 fit: reduce 'tile_m' or 'tile_n', or use more 'warps'

func.func @f(%q: tensor<1x1x?x16xf16>) -> tensor<1x1x?x16xf16> {
  %o = attn.forward %q, %q, %q : tensor<1x1x?x16xf16>, tensor<1x1x?x16xf16>, tensor<1x1x?x16xf16> -> tensor<1x1x?x16xf16>
  return %o : tensor<1x1x?x16xf16>
}
