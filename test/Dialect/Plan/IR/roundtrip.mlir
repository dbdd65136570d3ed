// Plans are printed without most default values, and parsed in any order.
// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --mlir-print-op-generic | fovea-opt | FileCheck %s

// CHECK-LABEL: func private @least
// CHECK-SAME: plan = #plan.kernel<#warp.mma_sync_unit, tile_m = 64, tile_n = 64, warps = 4, stages = 2>
func.func private @least() attributes {plan = #plan.kernel<#warp.mma_sync_unit>}

// CHECK-LABEL: func private @fields
// CHECK-SAME: plan = #plan.kernel<#warp.tcgen05_unit, tile_m = 256, tile_n = 128, warps = 8, stages = 1,
// CHECK-SAME: min_blocks = 2, column_warps = 4, row_tiles = 2, cluster = 2, work = dynamic, longest_first, chain = 1, ping_pong, classify,
// CHECK-SAME: recurrence = three_pass, tau = 4, sum_by_dot>
func.func private @fields() attributes {plan = #plan.kernel<#warp.tcgen05_unit,
  sum_by_dot, tau = 4, recurrence = three_pass, classify, ping_pong, chain = 1, longest_first, work = dynamic,
  cluster = 2, row_tiles = 2, column_warps = 4, min_blocks = 2, stages = 1, warps = 8, tile_n = 128, tile_m = 256>}

// CHECK-LABEL: func private @lists
// CHECK-SAME: streams = [<"q">, <"k", stages = 3>, <"p", staged, over = "s">],
// CHECK-SAME: dots = [<"s", a_in_registers, adds_to_summand>, <"o", operand_above = 25, operand_by_fma = 50>],
// CHECK-SAME: stores = [<"out", copied, over = "q">, <"dq", copied>, <"sum", late>],
// CHECK-SAME: roles = [<"load", warps = 4, registers = 40, owns = copies>, <"compute", warps = 8, registers = 232, owns = ["*"]>],
// CHECK-SAME: asked = ["overlap", "tile_m"]>
func.func private @lists() attributes {plan = #plan.kernel<#warp.wgmma_unit,
  asked = ["overlap", "tile_m"],
  roles = [#plan.role<"load", warps = 4, registers = 40, owns = copies>,
           <"compute", warps = 8, registers = 232, owns = ["*"]>],
  stores = [<"out", over = "q", copied>, <"dq", copied>, <"sum", late>],
  dots = [#plan.dot<"s", adds_to_summand, a_in_registers>, <"o", operand_by_fma = 50, operand_above = 25>],
  streams = [<"q", stages = 1>, <"k", stages = 3>, <"p", staged, over = "s">]>}

// CHECK-LABEL: func private @backward
// CHECK-SAME: row_chunks = 2, pair_sums,
// CHECK-SAME: streams = [<"p", rounded>], dots = [<"dq", chunk_rows = 64, chunk_columns = 128>],
// CHECK-SAME: stores = [<"dq_sum", accumulate, ordered, by_register>],
// CHECK-SAME: order = ["s", "dp", "ds", "dv"], asked = ["work"]>
func.func private @backward() attributes {plan = #plan.kernel<#warp.wgmma_unit,
  asked = ["work"], order = ["s", "dp", "ds", "dv"],
  stores = [<"dq_sum", by_register, ordered, accumulate>],
  dots = [<"dq", chunk_columns = 128, chunk_rows = 64>], streams = [<"p", rounded>], pair_sums, row_chunks = 2>}

// CHECK-LABEL: func private @order
// CHECK-SAME: order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*"]>, step = #plan.step<"s" + 1>
func.func private @order() attributes {plan = #plan.kernel<#warp.wgmma_unit,
  order = ["s" + 1, "o" + 0, "s.done" + 1, "*" + 1, "o.done", "*"]>, step = #plan.step<"s" + 1>}
