// The option 'schedule' accepts plans by kernel name in place of the planner's.
// RUN: fovea-opt %s --attn-to-tile='target=sm_80 schedule={forward = #plan.kernel<#warp.mma_sync_unit, tile_m = 64, tile_n = 32, dots = [<"s", a_in_registers>]>, queries = #plan.kernel<#warp.mma_sync_unit, tile_n = 48>}' | FileCheck %s
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={forward = #plan.kernel<' 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule=#plan.dot<"s">' 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={forward = #plan.dot<"s">}' 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={other = #plan.kernel<#warp.mma_sync_unit>}' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={forward = #plan.kernel<#warp.wgmma_unit>}' 2>&1 | FileCheck %s --check-prefix=UNIT
// RUN: not fovea-opt %s --attn-to-tile='target=sm_90a schedule={forward = #plan.kernel<#warp.wgmma_unit>}' 2>&1 | FileCheck %s --check-prefix=ROLES
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={forward = #plan.kernel<#warp.mma_sync_unit, tile_m = 40>}' 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={backward = #plan.kernel<#warp.mma_sync_unit, tile_m = 40>}' 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={backward = #plan.kernel<#warp.mma_sync_unit, tile_n = 24>}' 2>&1 | FileCheck %s --check-prefix=COLUMNS
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={backward = #plan.kernel<#warp.mma_sync_unit, dots = [<"dq", chunk_rows = 24>]>}' 2>&1 | FileCheck %s --check-prefix=CHUNK-ROWS
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={backward = #plan.kernel<#warp.mma_sync_unit, dots = [<"dq", chunk_columns = 24>]>}' 2>&1 | FileCheck %s --check-prefix=CHUNK-COLUMNS
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={backward = #plan.kernel<#warp.mma_sync_unit>}' 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={backward = #plan.kernel<#warp.mma_sync_unit, stores = [<"dq_sum", accumulate, ordered>]>, backward_queries = #plan.kernel<#warp.mma_sync_unit>}' 2>&1 | FileCheck %s --check-prefix=ORDERED
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={backward = #plan.kernel<#warp.mma_sync_unit, tile_n = 32, stores = [<"dq_sum", accumulate>]>, backward_queries = #plan.kernel<#warp.mma_sync_unit>}' 2>&1 | FileCheck %s --check-prefix=BLOCKS
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={backward = #plan.kernel<#warp.mma_sync_unit, pair_sums>, backward_queries = #plan.kernel<#warp.mma_sync_unit>}' 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={backward = #plan.kernel<#warp.mma_sync_unit, classify>, backward_queries = #plan.kernel<#warp.mma_sync_unit>}' 2>&1 | FileCheck %s --check-prefix=CLASSIFY
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={backward = #plan.kernel<#warp.mma_sync_unit, stores = [<"dq_sum", accumulate>], order = ["dq_sum", "dq"]>, backward_queries = #plan.kernel<#warp.mma_sync_unit>}' 2>&1 | FileCheck %s --check-prefix=STORE
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={backward = #plan.kernel<#warp.mma_sync_unit, stores = [<"dq_sum", accumulate>]>, backward_delta = #plan.kernel<#warp.mma_sync_unit, warps = 2>, backward_queries = #plan.kernel<#warp.mma_sync_unit>}' 2>&1 | FileCheck %s --check-prefix=FIXED
// RUN: not fovea-opt %s --attn-to-tile='target=sm_80 schedule={keysonly = #plan.kernel<#warp.mma_sync_unit, stores = [<"dq_sum", accumulate>]>, keysonly_delta = #plan.kernel<#warp.mma_sync_unit>}' 2>&1 | FileCheck %s --check-prefix=QUERY

// CHECK-LABEL: launch.abi @forward
// CHECK-SAME: <#warp.mma_sync_unit, tile_m = 64, tile_n = 32, warps = 4, stages = 2, dots = [<"s", a_in_registers>]>
// The main kernel of a pass without gradients of keys and values has tiles of queries.
// CHECK-LABEL: launch.abi @queries
// CHECK-SAME: <#warp.mma_sync_unit, tile_m = 64, tile_n = 48, warps = 4, stages = 2>
// SYNTAX: error: option 'schedule': schedule's plans are not an attribute
// KIND: error: option 'schedule': schedule's plans must be a dictionary of '#plan.kernel' by kernel name, found #plan.dot<"s">
// ENTRY: error: option 'schedule': schedule's plan of 'forward' must be '#plan.kernel', found #plan.dot<"s">
// NAME: error: option 'schedule': schedule has a plan of kernel 'other', but there is no such kernel
// UNIT: error: schedule's plan is for #warp.wgmma_unit, which 'sm_80' does not have
// ROLES: error: schedule's plan has no roles, which kernels for #warp.wgmma_unit don't support
// TILE: error: schedule's 'tile_m' must be a multiple of 16 rows for each of 4 warps, found 40
// ROWS: error: schedule's plan has tile_m = 40, expected a multiple of 64 for 4 warps of #warp.mma_sync_unit
// COLUMNS: error: schedule's plan has tile_n = 24, expected a multiple of 16 for #warp.mma_sync_unit
// CHUNK-ROWS: error: schedule's plan has chunk_rows = 24 for dot "dq", expected a multiple of 16 that divides tile_n = 64
// CHUNK-COLUMNS: error: schedule's plan has chunk_columns = 24 for dot "dq", expected a multiple of 16
// MISSING: error: schedule has no plan of kernel 'backward_queries'
// ORDERED: error: schedule's plan accumulates dq in a fixed order, but the op need not be deterministic
// BLOCKS: error: schedule's plan has tile_n = 32 for tiles of keys, which accumulate dq, but tile_m = 64 for tiles of queries, expected the same
// SUMS: error: schedule's plan has 'pair_sums', but its kernel can't compute sums over pairs
// CLASSIFY: error: schedule's plan has 'classify', but the op has no 'kv_classify' that a kernel can evaluate
// STORE: error: plan's 'order' has "dq_sum.0" before "dq.0", whose result it stores
// FIXED: error: schedule's plan of kernel 'backward_delta' can't be changed: expected {{.*}}warps = 4{{.*}}, found {{.*}}warps = 2
// QUERY: error: schedule's plan accumulates dq over tiles of keys, which needs the gradients of q and k

!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>

func.func @forward(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  return %o : !t
}

func.func @backward(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !l, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @keysonly(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t) -> (!t, !t) {
  %0:2 = attn.backward %q, %k, %v, %o, %lse, %do gradients(k, v) : !t, !t, !t, !t, !l, !t -> !t, !t
  return %0#0, %0#1 : !t, !t
}

func.func @queries(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %n: tensor<1x1x?xi32>, %i: tensor<1x1x?x?xi32>) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q)
    blocks(%n, %i : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, size = [64, 48]) : !t, !t, !t, !t, !l, !t -> !t
  return %0 : !t
}
