// Head dims above 128: roles of one warp group each. Who has dV or dK has 32 registers beside its sum,
// who computes scores what is left of 512, up to 208. The metadata's schedule can be asked for again.
// REQUIRES: fovea-compile
// DEFINE: %{plan} = fovea-opt %s --attn-to-tile=target=sm_90a
// RUN: %{plan} | FileCheck %s --check-prefix=PLAN
// A schedule is asked for of all functions of a file: here of one.
// RUN: sed '/^func.func @unequal/,$d' %s > %t.mlir
// RUN: fovea-compile %t.mlir --target=sm_90a -o %t.ptx --metadata=%t.json
// RUN: FileCheck %s --input-file=%t.json
// RUN: fovea-compile %t.mlir --target=sm_90a --schedule=tile_m=64,tile_n=64,warps=4,stages=2,query_in_registers=0,min_blocks=1,key_stages=1,producer_registers=24,consumer_registers=168,overlap=1 -o %t.again.ptx
// RUN: cmp %t.ptx %t.again.ptx
// CHECK: "schedule": {"tile_m":64,"tile_n":64,"warps":4,"stages":2,"query_in_registers":0,"min_blocks":1,"key_stages":1,"producer_registers":24,"consumer_registers":168,"overlap":1}

// PLAN-LABEL: launch.abi @dense
// PLAN-SAME: streams = [<"k">, <"v">, <"p">, <"ds", stages = 2>, <"exponents", stages = 2, staged, with = "q">, <"delta", stages = 2, staged, with = "do">]
// PLAN-SAME: dots = [<"s", ahead = 1, carried>]
// PLAN-SAME: <"load", warps = 4, registers = 24, owns = ["k", "v", "q", "do", "exponents", "delta"]>
// PLAN-SAME: <"score", warps = 4, registers = 168, owns = ["s", "p", "dp", "ds", "dq", "dq_sum"]>
// PLAN-SAME: <"values", warps = 4, registers = 160, owns = ["dv", "dv_out"]>
// PLAN-SAME: <"keys", warps = 4, registers = 160, owns = ["dk", "dk_out"]>
// Weights and derivatives cross; parts of dQ are products with columns of the keys that scores read.
// PLAN: gpu.func @dense(
// PLAN: %[[K:.*]] = tile.load "k"
// PLAN-NOT: tile.load "kq
// PLAN: tile.dot "s" %[[K]],
// PLAN: %[[P:.*]] = tile.stream "p"
// PLAN: tile.dot "dp"
// PLAN: tile.dot "dv" %[[P]],
// PLAN: %[[DS:.*]] = tile.stream "ds"
// PLAN: tile.dot "dk" %[[DS]],
// PLAN: tile.dot "dq.0" %[[DS]], %[[K]], %{{.*}} transpose_a columns(0)
// One part is added while the next one is found.
// PLAN: tile.dot "dq.1" %[[DS]], %[[K]], %{{.*}} transpose_a columns(64)
// PLAN: tile.store add "dq_sum.0"
// PLAN: tile.dot "dq.2" %[[DS]], %[[K]], %{{.*}} transpose_a columns(128)
// PLAN: tile.store add "dq_sum.1"
// PLAN: tile.dot "dq.3" %[[DS]], %[[K]], %{{.*}} transpose_a columns(192)
// PLAN: tile.store add "dq_sum.2"
// PLAN: tile.store add "dq_sum.3"

// Head dims of their own.
// PLAN-LABEL: launch.abi @unequal
// PLAN-SAME: <"score", warps = 4, registers = 208,
// PLAN-SAME: <"values", warps = 4, registers = 96,
// PLAN-SAME: <"keys", warps = 4, registers = 128,

// No more registers than there are, no more memory.
// RUN: not fovea-compile %t.mlir --target=sm_90a --schedule=producer_registers=72 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not fovea-compile %t.mlir --target=sm_90a --schedule=stages=3 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not fovea-compile %t.mlir --target=sm_90a --schedule=tile_m=128 2>&1 | FileCheck %s --check-prefix=ROWS
// BUDGET: error: schedule's 'producer_registers' is 72, which leaves 120 registers to who computes scores, of at least 128
// MEMORY: error: kernel needs {{[0-9]+}} bytes of shared memory, 'sm_90a' has 232448
// ROWS: error: schedules of gradients have the fields 'tile_n', 'stages', 'key_stages', 'work', 'output' and 'producer_registers', found 'tile_m', which no kernel has as 128

// What is added to dQ's sums may go through shared memory: that of a stage of derivatives.
// RUN: fovea-compile %t.mlir --target=sm_90a --schedule=output=tma -o %t.tma.ptx --metadata=%t.tma.json
// RUN: FileCheck %s --input-file=%t.tma.json --check-prefix=TMA
// TMA: "consumer_registers":168,"overlap":1,"output":"tma"}
// RUN: fovea-opt %t.mlir --attn-to-tile='target=sm_90a schedule=output=tma' | FileCheck %s --check-prefix=COPIED
// COPIED: streams = [<"k">, <"v">, <"p">, <"ds">,
// COPIED-SAME: stores = [<"dq_sum", copied>]

!t = tensor<?x?x?x256xbf16>
!w = tensor<?x?x?x192xbf16>
!v = tensor<?x?x?x128xbf16>
!rows = tensor<?x?x?xf32>
func.func @dense(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

func.func @unequal(%q: !w, %k: !w, %v: !v, %o: !v, %lse: !rows, %do: !v) -> (!w, !w, !v) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do : !w, !w, !v, !v, !rows, !v -> !w, !w, !v
  return %dq, %dk, %dv : !w, !w, !v
}
