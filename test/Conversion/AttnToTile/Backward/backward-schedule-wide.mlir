// Head dims above 128: roles of one warp group each. If dS needs only P of a score, the dV role
// computes P and the dK role dS: each has 64 registers besides its accumulator, and half of the
// rest of 512, up to 208. If dS needs the score, one role computes both: the accumulating roles
// have 32 registers besides their accumulators, and it gets the rest. The schedule in the metadata
// can be requested again.
// REQUIRES: fovea-compile
// DEFINE: %{plan} = fovea-opt %s --attn-differentiate --attn-to-tile=target=sm_90a
// RUN: %{plan} | FileCheck %s --check-prefix=PLAN
// A schedule applies to all functions of a file: here to one.
// RUN: sed '/^func.func @unequal/,$d' %s > %t.mlir
// RUN: fovea-compile %t.mlir --target=sm_90a -o %t.ptx --metadata=%t.json
// RUN: FileCheck %s --input-file=%t.json
// RUN: fovea-compile %t.mlir --target=sm_90a --schedule=tile_m=64,tile_n=64,warps=4,stages=2,query_in_registers=0,min_blocks=1,key_stages=1,producer_registers=24,consumer_registers=192 -o %t.again.ptx
// RUN: cmp %t.ptx %t.again.ptx
// CHECK: "schedule": {"tile_m":64,"tile_n":64,"warps":4,"stages":2,"query_in_registers":0,"min_blocks":1,"key_stages":1,"producer_registers":24,"consumer_registers":192}

// PLAN-LABEL: launch.abi @dense
// PLAN-SAME: streams = [<"k">, <"v">, <"p", stages = 2, staged>, <"ds", stages = 2>, <"exponents", stages = 2, staged, with = "q">, <"delta", stages = 2, staged, with = "do">]
// PLAN-SAME: <"load", warps = 4, registers = 24, owns = ["k", "v", "q", "do", "exponents", "delta"]>
// PLAN-SAME: <"values", warps = 4, registers = 192, owns = ["s", "p", "dv", "dv_out"]>
// PLAN-SAME: <"keys", warps = 4, registers = 200, owns = ["dp", "ds", "dk", "dk_out"]>
// PLAN-SAME: <"reduce", warps = 4, registers = 96, owns = ["dq", "dq_sum"]>
// P is streamed between roles and reloaded in its rounded type; the MMAs of dV and dK take P and dS
// as computed.
// PLAN: gpu.func @dense(
// PLAN: %[[K:.*]] = tile.load "k"
// PLAN-NOT: tile.load "kq
// PLAN: tile.dot "s" %[[K]],
// PLAN: %[[ROUNDED:.*]] = arith.truncf
// PLAN: %[[P:.*]] = tile.stream "p" %[[ROUNDED]]
// PLAN: %[[WEIGHT:.*]] = arith.extf %[[P]]
// PLAN: tile.dot "dp"
// PLAN: tile.dot "dv" %[[ROUNDED]],
// PLAN: arith.mulf %[[WEIGHT]],
// PLAN: %[[GRADIENT:.*]] = arith.truncf
// PLAN: %[[DS:.*]] = tile.stream "ds" %[[GRADIENT]]
// PLAN: tile.dot "dk" %[[GRADIENT]],
// dQ chunks are products with columns of the keys that scores read.
// PLAN: tile.dot "dq.0" %[[DS]], %[[K]], %{{.*}} transpose_a columns(0)
// One chunk is added while the next one is computed.
// PLAN: tile.dot "dq.1" %[[DS]], %[[K]], %{{.*}} transpose_a columns(64)
// PLAN: tile.store add "dq_sum.0"
// PLAN: tile.dot "dq.2" %[[DS]], %[[K]], %{{.*}} transpose_a columns(128)
// PLAN: tile.store add "dq_sum.1"
// PLAN: tile.dot "dq.3" %[[DS]], %[[K]], %{{.*}} transpose_a columns(192)
// PLAN: tile.store add "dq_sum.2"
// PLAN: tile.store add "dq_sum.3"

// Different head dims of K and V, whose accumulators take 160 registers together: two M-chunks of
// keys have a role each, which processes all of its pairs, and every other dQ chunk from the dS of
// both.
// PLAN-LABEL: launch.abi @unequal
// PLAN-SAME: tile_m = 128, tile_n = 64, warps = 4,
// PLAN-SAME: <"ds.0", stages = 2, counts_alone>
// PLAN-SAME: <"ds.1", stages = 2, counts_alone>, <"q", stages = 2, counts_alone>, <"do", stages = 2, counts_alone>
// Each role delays the last of its widest chunks by one iteration.
// PLAN-SAME: stores = [<"dq_sum.2", late>, <"dq_sum.1", late>, <"dq_sum", accumulate>]
// PLAN-SAME: <"first", warps = 4, registers = 240, owns = ["s.0", "dp.0", "ds.0", "dv.0", "dk.0", "dv_out.0", "dk_out.0", "dq.0", "dq_sum.0", "dq.2", "dq_sum.2"]>
// PLAN-SAME: <"second", warps = 4, registers = 240, owns = ["s.1", "dp.1", "ds.1", "dv.1", "dk.1", "dv_out.1", "dk_out.1", "dq.1", "dq_sum.1"]>
// PLAN: gpu.func @unequal(
// PLAN-DAG: %[[K0:.*]] = tile.load "k.0"
// PLAN-DAG: %[[K1:.*]] = tile.load "k.1"
// PLAN: tile.load "exponents"
// PLAN-NOT: tile.load "exponents"
// PLAN: tile.dot "s.0" %[[K0]],
// PLAN: tile.dot "s.1" %[[K1]],
// PLAN: tile.dot "dv.0" %[[ROUNDED:[0-9a-z_]+]],
// PLAN: tile.dot "dv.1"
// PLAN: arith.extf %[[ROUNDED]]
// PLAN: tile.dot "dp.0"
// PLAN: tile.dot "dp.1"
// PLAN: tile.load "delta"
// PLAN: %[[DS0:.*]] = tile.stream "ds.0"
// PLAN: %[[DS1:.*]] = tile.stream "ds.1"
// PLAN: tile.dot "dk.0"
// PLAN: tile.dot "dk.1"
// PLAN: %[[HALF:.*]] = tile.dot "dq.0" %[[DS0]], %[[K0]],
// PLAN: tile.dot "dq.0" %[[DS1]], %[[K1]], %[[HALF]]
// PLAN: tile.store add "dq_sum.0"
// PLAN: %[[HALF:.*]] = tile.dot "dq.1" %[[DS1]], %[[K1]],
// PLAN: tile.dot "dq.1" %[[DS0]], %[[K0]], %[[HALF]]
// PLAN: tile.store add "dq_sum.1"
// Tiles of 64 keys have the other roles.
// RUN: sed -n -e '/^!/p' -e '/^func.func @unequal/,/^}/p' %s > %t.unequal.mlir
// RUN: fovea-opt %t.unequal.mlir --attn-to-tile='target=sm_90a schedule=tile_m=64' | FileCheck %s --check-prefix=PAIRS
// PAIRS-LABEL: launch.abi @unequal target(
// PAIRS: <"values", warps = 4, registers = 176,
// PAIRS-SAME: <"keys", warps = 4, registers = 208,
// RUN: not fovea-opt %t.unequal.mlir --attn-to-tile='target=sm_90a schedule=producer_registers=40' 2>&1 | FileCheck %s --check-prefix=STRIPS
// STRIPS: error: schedule's 'producer_registers' is 40, but the other roles leave only 32

// dS needs no score, but score_mod has a term per pair: dQ chunks are computed one by one, and the
// compute role has the registers.
// PLAN-LABEL: launch.abi @biased
// PLAN-SAME: <"values", warps = 4, registers = 208, owns = ["s", "p", "dv", "dv_out"]>
// PLAN-SAME: <"keys", warps = 4, registers = 208, owns = ["dp", "ds", "dk", "dk_out"]>
// PLAN-SAME: <"reduce", warps = 4, registers = 72, owns = ["dq", "dq_sum"]>
// PLAN: gpu.func @biased(
// PLAN: tile.dot "dq.0"
// PLAN-NOT: tile.dot "dq.1"
// PLAN: tile.store add "dq_sum.0"

// dS needs the score.
// PLAN-LABEL: launch.abi @capped
// PLAN-SAME: streams = [<"k">, <"v">, <"p">, <"ds", stages = 2>,
// PLAN-SAME: dots = [<"dq", chunk_rows = 64, chunk_columns = 64>]
// PLAN-SAME: <"score", warps = 4, registers = 208, owns = ["s", "p", "dp", "ds", "dq", "dq_sum"]>
// PLAN-SAME: <"values", warps = 4, registers = 96, owns = ["dv", "dv_out"]>
// PLAN-SAME: <"keys", warps = 4, registers = 128, owns = ["dk", "dk_out"]>
// PLAN-SAME: order = ["s.done", "dp", {{.*}}"s" + 1, "dq.{{[0-9]+}}.done", "dq_sum.{{[0-9]+}}", "dq_sum.{{[0-9]+}}"]
// PLAN: gpu.func @capped(
// PLAN: %[[P:.*]] = tile.stream "p"
// PLAN: tile.dot "dp"
// PLAN: tile.dot "dv" %[[P]],
// PLAN: %[[DS:.*]] = tile.stream "ds"
// PLAN: tile.dot "dk" %[[DS]],

// Limits of registers and of shared memory.
// RUN: not fovea-compile %t.mlir --target=sm_90a --schedule=producer_registers=72 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not fovea-compile %t.mlir --target=sm_90a --schedule=stages=3 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not fovea-compile %t.mlir --target=sm_90a --schedule=tile_m=128 2>&1 | FileCheck %s --check-prefix=ROWS
// BUDGET: error: schedule's 'producer_registers' is 72, but the other roles leave only 32
// RUN: sed -n -e '/^!/p' -e '/^func.func @capped/,$p' %s > %t.capped.mlir
// RUN: not fovea-compile %t.capped.mlir --target=sm_90a --schedule=producer_registers=240 2>&1 | FileCheck %s --check-prefix=SCORES
// SCORES: error: schedule's 'producer_registers' is 240, which leaves 48 registers per thread for role 'score', expected at least 128
// MEMORY: error: kernel needs {{[0-9]+}} bytes of shared memory, but 'sm_90a' has 232448
// ROWS: error: backward schedules can set 'tile_n', 'stages', 'key_stages', 'work', 'output' and 'producer_registers', found 'tile_m', which is not 128 in any of the kernels

// Contributions to dq_accum may go through shared memory: that of a dS stage.
// RUN: fovea-compile %t.mlir --target=sm_90a --schedule=output=tma -o %t.tma.ptx --metadata=%t.tma.json
// RUN: FileCheck %s --input-file=%t.tma.json --check-prefix=TMA
// TMA: "consumer_registers":192,"output":"tma"}
// RUN: fovea-opt %t.mlir --attn-to-tile='target=sm_90a schedule=output=tma' | FileCheck %s --check-prefix=COPIED
// COPIED-LABEL: launch.abi @dense target(
// COPIED: streams = [<"k">, <"v">, <"p", staged>, <"ds">,
// COPIED-SAME: stores = [<"dq_sum", copied, accumulate>]

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

func.func @biased(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %both = arith.xori %i, %j : index
      %narrow = arith.index_cast %both : index to i32
      %bias = arith.sitofp %narrow : i32 to f32
      %0 = arith.addf %s, %bias : f32
      attn.yield %0 : f32
    }
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

func.func @capped(%q: !w, %k: !w, %v: !v, %o: !v, %lse: !rows, %do: !v) -> (!w, !w, !v) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %t = math.tanh %s : f32
      attn.yield %t : f32
    }
    : !w, !w, !v, !v, !rows, !v -> !w, !w, !v
  return %dq, %dk, %dv : !w, !w, !v
}
