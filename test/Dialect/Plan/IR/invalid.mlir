// Invalid plans.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{plan's 'tile_m' must be in [1, 1024], found 0}}
#k = #plan.kernel<#warp.mma_sync_unit, tile_m = 0>

// -----

// expected-error @+1 {{plan's 'stages' must be in [1, 32], found 1025}}
#k = #plan.stream<"k", stages = 1025>

// -----

// expected-error @+1 {{the stage of step "s" must be 0 or 1, found 2}}
#d = #plan.step<"s" + 2>

// -----

// expected-error @+1 {{a step of the plan's 'order' needs a name}}
#d = #plan.step<"">

// -----

// expected-error @+1 {{plan's 'operand_above' must be in [1, 100], found 0}}
#d = #plan.dot<"o", operand_above = 0>

// -----

// expected-error @+1 {{plan's store "out" has 'over' but is not 'copied'}}
#s = #plan.store<"out", over = "q">

// -----

// expected-error @+1 {{plan's store "dq_sum" is both 'late' and 'copied'}}
#s = #plan.store<"dq_sum", copied, late>

// -----

// expected-error @+1 {{unknown field 'stagez', expected stages, staged, over}}
#k = #plan.stream<"k", stagez = 3>

// -----

// expected-error @+1 {{'stages' is specified twice}}
#k = #plan.stream<"k", stages = 3, stages = 4>

// -----

// expected-error @+1 {{unknown field 'lanes', expected tile_m, tile_n, warps}}
#k = #plan.kernel<#warp.mma_sync_unit, lanes = 3>

// -----

// expected-error @+1 {{'column_warps' must divide 6 warps, found 4}}
#k = #plan.kernel<#warp.mma_sync_unit, warps = 6, column_warps = 4>

// -----

// expected-error @+1 {{'column_warps' must be 1 with roles, found 2}}
#k = #plan.kernel<#warp.mma_sync_unit, column_warps = 2, roles = [<"load", warps = 4, registers = 40, owns = copies>, <"compute", warps = 4, registers = 232, owns = ["*"]>]>

// -----

// expected-error @+1 {{unknown value 'sometimes'}}
#k = #plan.kernel<#warp.mma_sync_unit, work = sometimes>

// -----

// expected-error @+1 {{expected an MMA unit, found "mma"}}
#k = #plan.kernel<"mma">

// -----

// expected-error @+1 {{plan has two entries for stream "k"}}
#k = #plan.kernel<#warp.mma_sync_unit, streams = [<"k">, <"k", stages = 2>]>

// -----

// expected-error @+1 {{plan has two entries for dot "s"}}
#k = #plan.kernel<#warp.mma_sync_unit, dots = [<"s", a_in_registers>, <"s", adds_to_summand>]>

// -----

// expected-error @+1 {{plan has two entries for store "out"}}
#k = #plan.kernel<#warp.mma_sync_unit, stores = [<"out", copied>, <"out", copied, over = "q">]>

// -----

// expected-error @+1 {{role 'a': 'owns' must contain strings, found 1 : i64}}
#role = #plan.role<"a", warps = 4, registers = 24, owns = [1]>

// -----

// expected-error @+1 {{role 'a' must have warps and registers, found 0 and 24}}
#role = #plan.role<"a", warps = 0, registers = 24, owns = ["k"]>

// -----

// expected-error @+1 {{role 'a' must have fewer than 4 warps or a multiple of 4, found 6}}
#role = #plan.role<"a", warps = 6, registers = 24, owns = ["k"]>

// -----

// expected-error @+1 {{a role needs a name}}
#role = #plan.role<"", warps = 4, registers = 24, owns = ["k"]>

// -----

// expected-error @+1 {{roles 'a' and 'b' both own "k"}}
#k = #plan.kernel<#warp.wgmma_unit,
  roles = [<"a", warps = 4, registers = 24, owns = ["k"]>, <"b", warps = 4, registers = 24, owns = ["v", "k"]>]>

// -----

// expected-error @+1 {{two roles are named 'a'}}
#k = #plan.kernel<#warp.wgmma_unit,
  roles = [<"a", warps = 4, registers = 24, owns = ["k"]>, <"a", warps = 4, registers = 24, owns = []>]>

// -----

// expected-error @+1 {{roles 'a' and 'b' both own the copies}}
#k = #plan.kernel<#warp.wgmma_unit,
  roles = [<"a", warps = 4, registers = 24, owns = copies>, <"b", warps = 4, registers = 24, owns = copies>]>

// -----

// expected-error @+1 {{expected '<'}}
#k = #plan.kernel<#warp.wgmma_unit, roles = ["load"]>

// -----

// expected-error @+1 {{plan's 'order' lists "s" twice}}
#k = #plan.kernel<#warp.wgmma_unit, order = ["s", "o", "s"]>

// -----

// expected-error @+1 {{plan's store "dq_sum" is 'ordered' but does not 'accumulate'}}
#s = #plan.store<"dq_sum", ordered>
