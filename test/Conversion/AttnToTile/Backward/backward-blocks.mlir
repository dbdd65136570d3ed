// Block-sparse lists in gradients. Query tiles use them directly. For key tiles a prologue kernel
// transposes them: scratch memory has the same form, counts and indices of query blocks per key
// block.
// RUN: fovea-opt %s --attn-to-tile='target=sm_80 schedule=tile_n=32' --cse | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: fovea-opt %s --attn-to-tile=target=sm_90a --cse | FileCheck %s --check-prefixes=CHECK,ROLES
// RUN: sed -e 's/128, 384/96, 48/' %s | fovea-opt --attn-to-tile=target=sm_90a | FileCheck %s --check-prefix=NARROW

// CHECK: launch.abi @both
// CHECK-SAME: #launch.scratch_memref<"partial_count_turned", ["Skv"]
// CHECK-SAME: #launch.scratch_memref<"partial_index_turned", ["Skv", "Sq"]
// CHECK-SAME: #launch.scratch_memref<"full_count_turned", ["B", "Hq", "Skv"
// CHECK-SAME: #launch.scratch_memref<"full_index_turned"
// TWO-SAME: prologue([@both_lists, @both_queries])
// ROLES-SAME: prologue([@both_lists, @both_delta])
// NARROW-LABEL: launch.abi @both target({{.*}} plan(<#warp.mma_sync_unit, tile_m = 48, tile_n = 48, warps = 3
// CHECK-LABEL: gpu.func @both(
// With roles a loop runs at least once: on an existing block, without keys.
// ROLES: %[[EMPTY:.*]] = arith.cmpi eq, %{{.*}}, %c0
// ROLES: arith.select %[[EMPTY]], %{{.*}}, %c0{{.*}} : index
// ROLES: arith.select %[[EMPTY]], %c0{{.*}}, %{{.*}} : index
// TWO: tile.for_blocks blocks %{{.*}} masked(%{{.*}}) step 32
// ROLES: tile.for_blocks blocks %{{.*}} masked(%{{.*}}) step 128
// CHECK: visit(%[[N:.*]]: index) {
// CHECK: memref.load %{{.*}} : memref<1x1x?x?xi32>
// CHECK: tile.is_partial %[[N]]
// CHECK: memref.load %{{.*}} : memref<?x?x?x?xi32>
// CHECK: tile.dot "s"
// Blocks listed as full are not masked by mask_mod, but may be ragged.
// CHECK: scf.if
// CHECK: arith.cmpi sgt
// CHECK: %[[RAGGED:.*]] = arith.ori
// CHECK: scf.if %[[RAGGED]]
// CHECK: tile.iota

// Each ballot yields the query blocks of 32 that list a key block.
// CHECK-LABEL: gpu.func @both_lists(
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK: tile.gather
// CHECK: scf.while
// CHECK: tile.ballot
// CHECK: tile.gather
// CHECK-COUNT-4: tile.ballot
// CHECK-COUNT-4: tile.scatter
// CHECK: tile.scatter
// CHECK: tile.scatter
// CHECK: scf.if

// TWO-LABEL: gpu.func @both_queries(
// TWO: tile.for_blocks blocks %{{.*}} masked(%{{.*}}) step 32
// TWO: memref.load %{{.*}} : memref<1x1x?x?xi32, strided
!t = tensor<?x?x?x64xbf16>
!rows = tensor<?x?x?xf32>
func.func @both(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %pc: tensor<1x1x?xi32>, %pi: tensor<1x1x?x?xi32>, %fc: tensor<?x?x?xi32>, %fi: tensor<?x?x?x?xi32>) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    blocks(%pc, %pi, %fc, %fi : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<?x?x?xi32>, tensor<?x?x?x?xi32>, size = [128, 384])
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 3 : index
      %keep = arith.cmpi uge, %i, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// Query tiles alone need no transposed lists.
// CHECK: launch.abi @queries
// CHECK-NOT: prologue
// CHECK-LABEL: gpu.func @queries(
// CHECK-NOT: gpu.func
func.func @queries(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %n: tensor<1x1x?xi32>, %i: tensor<1x1x?x?xi32>) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q)
    blocks(%n, %i : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, size = [128, 384]) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}
