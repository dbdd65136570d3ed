// Key tiles read transposed block-sparse lists of the caller, without a prologue kernel that
// transposes the other lists.
// RUN: fovea-opt %s --attn-to-tile=target=sm_80 --cse | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile=target=sm_90a --cse | FileCheck %s --check-prefixes=CHECK,ROLES

!t = tensor<?x?x?x64xbf16>
!rows = tensor<?x?x?xf32>
!n = tensor<1x1x?xi32>
!i = tensor<1x1x?x?xi32>
!all = tensor<?x?x?xi32>
!alls = tensor<?x?x?x?xi32>

// CHECK: launch.abi @both
// CHECK-SAME: "partial_query_count", {{[^[]*}}["partial_query_count.0", "partial_query_count.1", "Kblocks"]
// CHECK-SAME: "full_query_index", {{[^[]*}}["B", "Hq", "Kblocks", "full_query_index.3"]
// CHECK-NOT: both_lists
// CHECK-SAME: #launch.covers<"Kblocks", block = 384, of "Skv">
// CHECK-SAME: #launch.contents<"full_query_index", of "Sq" block = 128 entries = "full_query_count">
// CHECK-LABEL: gpu.func @both(
// CHECK: visit(%[[N:.*]]: index) {
// CHECK: memref.load %{{.*}} : memref<1x1x?x?xi32
// CHECK: tile.is_partial %[[N]]
// CHECK: memref.load %{{.*}} : memref<?x?x?x?xi32
// A block past the end becomes the last block with all pairs masked.
// CHECK: %[[PAST:.*]] = arith.cmpi sgt, %[[FIRST:.*]], %[[LAST:.*]] : index
// CHECK: %[[KEYS:.*]] = arith.select %[[PAST]], %c0{{.*}}, %{{.*}} : index
// CHECK: arith.minsi %[[FIRST]], %[[LAST]]
// CHECK: arith.cmpi sgt, %{{.*}}, %[[KEYS]]
// CHECK-NOT: gpu.func @both_lists
func.func @both(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %pc: !n, %pi: !i, %fc: !all, %fi: !alls, %tpc: !n, %tpi: !i, %tfc: !all, %tfi: !alls) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    blocks(%pc, %pi, %fc, %fi : !n, !i, !all, !alls, size = [128, 384])
    query_blocks(%tpc, %tpi, %tfc, %tfi : !n, !i, !all, !alls)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 3 : index
      %keep = arith.cmpi uge, %i, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// Ordered accumulation needs bitmaps.
// CHECK-LABEL: launch.abi @ordered target(
// ROLES-SAME: #launch.scratch_memref<"partial_index_bits"
// ROLES: gpu.func @ordered_lists(
func.func @ordered(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %n: !n, %i: !i, %tn: !n, %ti: !i) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    blocks(%n, %i : !n, !i, size = [128, 128]) query_blocks(%tn, %ti : !n, !i)
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// A block of many tiles: lists of the prologue kernel contain only existing tiles.
// CHECK-LABEL: launch.abi @long target(
// CHECK-SAME: #launch.scratch_memref<"partial_count_turned"
// CHECK: gpu.func @long_lists(
func.func @long(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %n: !n, %i: !i, %tn: !n, %ti: !i) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    blocks(%n, %i : !n, !i, size = [16384, 128]) query_blocks(%tn, %ti : !n, !i)
    : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
