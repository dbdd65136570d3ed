// One kernel without roles: a key tile processes its queries, shares dS between all warps, and adds
// their dQ contributions to dq_accum, register by register.
// RUN: fovea-opt %s --split-input-file --attn-differentiate --attn-analyze-mask --attn-to-tile=target=sm_80 | FileCheck %s
// RUN: fovea-opt %s --split-input-file --attn-differentiate --attn-analyze-mask --attn-to-tile='target=sm_90a schedule=producer_registers=0' | FileCheck %s --check-prefix=LANES

// CHECK: launch.abi @all
// CHECK-SAME: plan(<#warp.mma_sync_unit, tile_m = 64, tile_n = 64, warps = 4, stages = 2, dots = [<"dk", a_in_registers>], stores = [<"dq_sum", accumulate, by_register>]>)
// CHECK-SAME: #launch.scratch_memref<"dq_sum"
// CHECK-SAME: prologue([@all_delta]) epilogue([@all_queries])
// CHECK-LABEL: gpu.func @all(
// CHECK: %[[K:.*]] = tile.load "k"
// CHECK: tile.for_blocks
// CHECK: %[[Q:.*]] = tile.load "q"
// CHECK: tile.load "exponents" {{.*}} fragments :
// CHECK: tile.dot "dv"
// CHECK: %[[DS:.*]] = arith.truncf
// CHECK: %[[SHARED:.*]] = tile.stream "ds" %[[DS]]
// CHECK: tile.dot "dk" %[[DS]], %[[Q]],
// CHECK: %[[DQ:.*]] = tile.dot "dq.0" %[[SHARED]], %[[K]], %{{.*}} transpose_a : {{.*}}, tensor<64x64xf32, #tile.reg>
// CHECK: tile.store add "dq_sum.0" %[[DQ]], {{.*}} fragments by_register :
// CHECK-LABEL: gpu.func @all_delta(
// CHECK: tile.store "dq_sum" {{.*}} fragments :
// CHECK-LABEL: gpu.func @all_queries(
// CHECK: tile.load {{.*}} fragments by_register :
// CHECK: tile.store "dq_out"
// On a target with vector atomics a lane's elements are adjacent.
// LANES-LABEL: gpu.func @all(
// LANES: tile.store add "dq_sum.0" {{.*}} fragments :
!t = tensor<2x4x?x64xbf16>
!rows = tensor<2x4x?xf32>
func.func @all(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// -----

// Wide heads: eight warps split the columns, so that P and dS are stored where all warps read them;
// dQ is computed in chunks. The preprocess and postprocess kernels split rows only.
// CHECK: launch.abi @wide
// CHECK-SAME: warps = 8, stages = 1, column_warps = 4, dots = [<"dq", chunk_columns = 128>], stores = [<"dq_sum", accumulate, by_register>]>)
// CHECK-SAME: prologue([@wide_delta]) epilogue([@wide_queries])
// CHECK-LABEL: gpu.func @wide(
// CHECK: %[[P:.*]] = tile.stream "p"
// CHECK: tile.dot "dv" %[[P]],
// CHECK: %[[DS:.*]] = tile.stream "ds"
// CHECK: tile.dot "dk" %[[DS]],
// CHECK: tile.dot "dq.0" %[[DS]], {{.*}} transpose_a columns(0)
// CHECK: tile.dot "dq.1" %[[DS]], {{.*}} transpose_a columns(128)
// CHECK: launch.abi @wide_delta
// CHECK-SAME: warps = 4, stages = 1>)
// CHECK: launch.abi @wide_queries
// CHECK-SAME: warps = 4, stages = 1>)
!t = tensor<2x4x?x256xbf16>
!rows = tensor<2x4x?xf32>
func.func @wide(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// -----

// The number of warps that split columns is such that 16 columns of each divide both head dims.
// CHECK-LABEL: launch.abi @halves
// CHECK-SAME: warps = 8, stages = 2, column_warps = 2, dots = [<"dq", chunk_columns = 128>], stores = [<"dq_sum", accumulate, by_register>]>)
!t = tensor<2x4x?x160xbf16>
!w = tensor<2x4x?x128xbf16>
!rows = tensor<2x4x?xf32>
func.func @halves(%q: !t, %k: !t, %v: !w, %o: !w, %lse: !rows, %do: !w) -> (!t, !t, !w) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !w, !w, !rows, !w -> !t, !t, !w
  return %0#0, %0#1, %0#2 : !t, !t, !w
}

// -----

// If 32 columns do not divide the head dims, warps do not split columns: dV has a kernel of its
// own.
// CHECK: launch.abi @odd
// CHECK-SAME: warps = 4, stages = 1, dots = [<"dq", chunk_columns = 128>, <"dk", a_in_registers>],
// CHECK-SAME: prologue([@odd_delta, @odd_values]) epilogue([@odd_queries])
// CHECK-LABEL: gpu.func @odd(
// CHECK-NOT: tile.dot "dv"
// CHECK: tile.dot "dk"
// CHECK: tile.dot "dq.0" {{.*}} transpose_a columns(0)
// CHECK: tile.dot "dq.1" {{.*}} transpose_a columns(128)
// CHECK-LABEL: gpu.func @odd_values(
// CHECK-NOT: tile.dot "d{{[kpq]}}
// CHECK: tile.dot "dv"
!t = tensor<2x4x?x144xbf16>
!rows = tensor<2x4x?xf32>
func.func @odd(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// -----

// Two kernels: ordered accumulation, and requests for only some gradients.
// CHECK-LABEL: launch.abi @ordered
// CHECK-SAME: prologue([@ordered_queries])
// CHECK-LABEL: launch.abi @two
// CHECK-SAME: prologue([@two_delta])
!t = tensor<2x4x?x64xbf16>
!rows = tensor<2x4x?xf32>
func.func @ordered(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
func.func @two(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t) {
  %0:2 = attn.backward %q, %k, %v, %o, %lse, %do gradients(k, v) : !t, !t, !t, !t, !rows, !t -> !t, !t
  return %0#0, %0#1 : !t, !t
}

// -----

// No warp has whole rows if warps split columns: values by relative position are loaded per pair.
// CHECK-LABEL: launch.abi @flags
// CHECK-SAME: column_warps = 2, dots = [<"dq", chunk_columns = 128>], stores = [<"dq_sum", accumulate, by_register>]>)
// CHECK-LABEL: gpu.func @flags(
// CHECK-NOT: tile.diagonals
// CHECK: tile.gather
// CHECK-LABEL: gpu.func @flags_delta(
!t = tensor<2x4x?x160xbf16>
!rows = tensor<2x4x?xf32>
func.func @flags(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %hidden: tensor<?xi1>) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do captures(%hidden : tensor<?xi1>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?xi1>) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %distance = arith.subi %i, %j : index
      %least = arith.maxsi %distance, %c0 : index
      %place = arith.minsi %least, %c32 : index
      %flag = tensor.extract %x[%place] : tensor<?xi1>
      %low = arith.constant 0.25 : f32
      %r = arith.select %flag, %low, %s : f32
      attn.yield %r : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
