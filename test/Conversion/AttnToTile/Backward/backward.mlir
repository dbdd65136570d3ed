// Deterministic gradients without accumulation in memory: a query tile processes its keys for dQ,
// and delta, which goes to scratch memory; a key tile processes its queries, with transposed
// scores, for dK and dV.
// RUN: fovea-opt %s --split-input-file --attn-analyze-mask --attn-to-tile=target=sm_80 | FileCheck %s

!t = tensor<2x4x?x64xbf16>
!rows = tensor<2x4x?xf32>
// CHECK: launch.abi @all
// CHECK-SAME: #launch.scratch_memref<"delta", ["Sq"]
// CHECK-SAME: grid(["Skv"] {{.*}} prologue([@all_queries])
// CHECK-LABEL: gpu.func @all(
// CHECK: tile.load "k"
// CHECK: tile.load "v"
// CHECK: tile.for_blocks
// CHECK: tile.load "q"
// CHECK: tile.load "do"
// CHECK: tile.dot "s" %[[K:.*]], %[[Q:.*]], %{{.*}} transpose_b
// CHECK: math.exp2
// CHECK: tile.dot "dp" %[[V:.*]], %[[DO:.*]], %{{.*}} transpose_b
// CHECK: tile.dot "dv" %{{.*}}, %[[DO]],
// CHECK: tile.dot "dk" %{{.*}}, %[[Q]],
// CHECK: tile.store "dv_out"
// CHECK: tile.store "dk_out"
// CHECK-LABEL: gpu.func @all_queries(
// CHECK: tile.reduce add dim 1
// CHECK: tile.store "delta"
// CHECK: tile.for_blocks
// CHECK: tile.dot "s" %[[QQ:.*]], %[[KK:.*]], %{{.*}} transpose_b
// CHECK: tile.dot "dp"
// CHECK: tile.dot "dq" %{{.*}}, %[[KK]],
// CHECK: tile.store "dq_out"
func.func @all(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// -----

// Only the needed gradients: dV needs neither delta nor dP.
// CHECK: launch.abi @values
// CHECK-NOT: prologue
// CHECK-LABEL: gpu.func @values(
// CHECK-NOT: tile.dot "dp"
// CHECK: tile.dot "dv"
// CHECK-NOT: gpu.func
!t = tensor<2x4x?x64xbf16>
!rows = tensor<2x4x?xf32>
func.func @values(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(v) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

// dQ alone is one kernel, which does not store delta; dK alone needs a preprocess kernel for delta.
// CHECK: launch.abi @queries
// CHECK-NOT: scratch
// CHECK-LABEL: gpu.func @queries(
// CHECK: tile.dot "dq"
// CHECK: prologue([@keys_delta])
// CHECK-LABEL: gpu.func @keys(
// CHECK: tile.dot "dk"
// CHECK-LABEL: gpu.func @keys_delta(
// CHECK-NOT: tile.dot
!t = tensor<2x4x?x64xbf16>
!rows = tensor<2x4x?xf32>
func.func @queries(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}
func.func @keys(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(k) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

// Wide heads: dK and dV have a kernel each, so that their accumulators stay in registers.
// CHECK: prologue([@wide_queries, @wide_values])
// CHECK-LABEL: gpu.func @wide(
// CHECK: tile.dot "dk"
!t = tensor<2x4x?x256xbf16>
!rows = tensor<2x4x?xf32>
func.func @wide(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
