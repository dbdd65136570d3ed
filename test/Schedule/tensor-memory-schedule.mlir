// Valid and invalid schedules with accumulators in tensor memory.
// DEFINE: %{schedule} = auto
// DEFINE: %{tile} = fovea-opt %s --canonicalize --attn-to-tile="target=sm_100a schedule=%{schedule}"
// DEFINE: %{fails} = not %{tile} 2>&1 | FileCheck %s --check-prefix
// RUN: %{tile} | FileCheck %s
// CHECK-LABEL: launch.abi @dense target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 256, tile_n = 128, warps = 8, stages = 1, row_tiles = 2, work = static, recurrence = conditional, streams = [<"q">, <"k", stages = 2>, <"p", staged, over = "s">, <"factor", staged>, <"scale", staged>, <"y", staged>], dots = [<"o", operand_by_fma = 13>], stores = [<"out", copied>], roles = [
// CHECK-SAME: <"softmax0", warps = 4, registers = 192, owns = ["p.0", "factor.0", "scale.0", "lse.0"]>
// CHECK-SAME: <"softmax1", warps = 4, registers = 192, owns = ["p.1", "factor.1", "scale.1", "lse.1"]>
// CHECK-SAME: <"correction", warps = 4, registers = 72, owns = ["o.0.update", "o.1.update", "y.0", "y.1"]>
// CHECK-SAME: <"mma", warps = 1, registers = 56, owns = ["s.0", "s.1", "o.0", "o.1"]>
// CHECK-SAME: <"load", warps = 1, registers = 56, owns = ["q.0", "q.1", "k", "v"]>
// CHECK-SAME: <"epilogue", warps = 2, registers = 56, owns = ["out.0", "out.1"]>

// With direct output the correction role stores the rows. With a single query
// tile, names have no index.
// REDEFINE: %{schedule} = row_tiles=1,output=direct
// RUN: %{tile} | FileCheck %s --check-prefix=DIRECT
// DIRECT-LABEL: launch.abi @dense target(
// DIRECT: <"softmax", warps = 4, registers = 192, owns = ["p", "factor", "scale", "lse"]>
// DIRECT-SAME: <"correction", warps = 4, registers = 96, owns = ["o.update", "y", "out"]>
// DIRECT-SAME: <"load", warps = 3, registers = 56, owns = ["q", "k", "v"]>
// DIRECT-NOT: epilogue

// REDEFINE: %{schedule} = row_tiles=3
// RUN: %{fails}=TILES
// TILES: error: schedule's 'row_tiles' must be 1 or 2, found 3
// REDEFINE: %{schedule} = tile_m=128
// RUN: %{fails}=ROWS
// ROWS: error: schedule's 'tile_m' must be 128 for each of 2 'row_tiles', found 128
// REDEFINE: %{schedule} = warps=4
// RUN: %{fails}=WARPS
// WARPS: error: schedule's 'warps' must be 4 for each of 2 'row_tiles', found 4
// REDEFINE: %{schedule} = tile_n=48
// RUN: %{fails}=KEYS
// KEYS: error: schedule's 'tile_n' must be a multiple of 32 up to 256 where dots accumulate in tensor memory, found 48
// REDEFINE: %{schedule} = tile_n=160
// RUN: %{fails}=COLUMNS
// COLUMNS: error: schedule needs 576 columns of tensor memory, but a CTA has 512: reduce 'tile_n' or 'row_tiles'
// REDEFINE: %{schedule} = stages=2
// RUN: %{fails}=BYTES
// BYTES: error: schedule needs {{[0-9]+}} bytes of shared memory, but 'sm_100a' has 232448: reduce 'tile_n' or the stages
// REDEFINE: %{schedule} = recurrence=lazy
// RUN: %{fails}=RECURRENCE
// RECURRENCE: error: schedule's 'recurrence' must be conditional or deferred where dots accumulate in tensor memory, found lazy
// REDEFINE: %{schedule} = cluster=2
// RUN: %{fails}=CLUSTER
// CLUSTER: error: schedule's 'cluster' must be 1 where dots accumulate in tensor memory, found 2
// REDEFINE: %{schedule} = producer_registers=20
// RUN: %{fails}=BUDGET
// BUDGET: error: schedule's 'producer_registers' must be a multiple of 8 from 24 on, found 20
// REDEFINE: %{schedule} = producer_registers=0,consumer_registers=0
// RUN: %{fails}=NOROLES
// NOROLES: error: schedule's 'row_tiles' needs roles: set 'producer_registers'
// RUN: not fovea-opt %s --canonicalize --attn-to-tile="target=sm_90a schedule=row_tiles=2" 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: schedule accumulates in tensor memory ('row_tiles'), which 'sm_90a' does not have
// RUN: sed -e 's/(%q:/(%n: tensor<1xi32>, %q:/; s/%k, %v :/%k, %v lengths(%n : tensor<1xi32>) :/' %s > %t.lengths.mlir
// RUN: fovea-opt %t.lengths.mlir --attn-to-tile=target=sm_100a | FileCheck %s --check-prefix=LENGTHS
// LENGTHS-LABEL: launch.abi @dense target("sm_100a") plan(<#warp.tcgen05_unit,
// LENGTHS-SAME: work = dynamic
// RUN: not fovea-opt %t.lengths.mlir --attn-to-tile="target=sm_100a schedule=output=tma" 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: schedule's 'output' must be direct where sequences may end before the tensors do and dots accumulate in tensor memory, found tma
func.func @dense(%q: tensor<1x2x512x128xbf16>, %k: tensor<1x2x384x128xbf16>, %v: tensor<1x2x384x128xbf16>) -> tensor<1x2x512x128xbf16> {
  %o = attn.forward %q, %k, %v : tensor<1x2x512x128xbf16>, tensor<1x2x384x128xbf16>, tensor<1x2x384x128xbf16> -> tensor<1x2x512x128xbf16>
  return %o : tensor<1x2x512x128xbf16>
}
