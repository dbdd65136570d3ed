// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=work=single" --split-input-file | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile=target=sm_90a --split-input-file | FileCheck %s --check-prefix=HOPPER

!q = tensor<?x8x1x64xbf16>
!k = tensor<?x2x?x64xbf16>

// One query: the four query heads of a key head are rows of one tile, and one warp group is enough.
// HOPPER-LABEL: launch.abi @rows {{.*}} plan(<#warp.{{[a-z0-9_]+}}, tile_m = 64, {{.*}}warps = 4,
// CHECK: #[[GRID:.*]] = affine_map<()[s0] -> (s0 * 2)>
// CHECK: launch.abi @rows {{.*}} plan(<#warp.{{[a-z0-9_]+}}, tile_m = 64,
// CHECK-SAME: grid(["B"] #[[GRID]])
// CHECK-LABEL: gpu.func @rows
// CHECK: tile.foreach_work
// CHECK: %[[KEYHEAD:.*]] = arith.remui %{{.*}}, %c2
// CHECK: %[[FIRST:.*]] = arith.muli %[[KEYHEAD]], %c4
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c4
// CHECK: tile.load {{("[^"]+" )?}}%arg0[%{{.*}}, %[[ROW]], %c0{{.*}}, %c0{{.*}}] dims [1, 3]
// CHECK: tile.softmax_sum
// CHECK: tile.load {{("[^"]+" )?}}%arg1[%{{.*}}, %[[KEYHEAD]], %{{.*}}, %{{.*}}] dims [2, 3]
// score_mod sees a head in each row, and query 0.
// CHECK: arith.index_cast %[[ROW]] : index to i32
// CHECK: tile.load {{("[^"]+" )?}}%arg3[%[[ROW]]] dims [0, -1] : {{.*}} to tensor<64x1xf32, #tile.reg>
// CHECK: tile.load {{("[^"]+" )?}}%arg4[%[[ROW]]] dims [0, -1] : {{.*}} to tensor<64x1xf32, #tile.reg>
// CHECK: tile.softmax_finish {{.*}} sink(
// CHECK: tile.store {{("[^"]+" )?}}%{{.*}}, %arg5[%{{.*}}, %[[ROW]], %{{.*}}, %{{.*}}] limit(%[[END]]) dims [1, 3]
// CHECK: tile.store {{("[^"]+" )?}}%{{.*}}, %arg6[%{{.*}}, %[[ROW]], %{{.*}}] limit(%[[END]]) dims [1, -1]
func.func @rows(%q: !q, %k: !k, %slopes: tensor<8xf32>, %sinks: tensor<8xf32>) -> (!q, tensor<?x8x1xf32>) {
  %o, %lse = attn.forward %q, %k, %k sinks(%sinks : tensor<8xf32>) captures(%slopes : tensor<8xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %sl: tensor<8xf32>) {
      %slope = tensor.extract %sl[%h] : tensor<8xf32>
      %d = arith.subi %j, %i : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32
      %bias = arith.mulf %slope, %df : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    } : !q, !k, !k -> !q, tensor<?x8x1xf32>
  return %o, %lse : !q, tensor<?x8x1xf32>
}

// -----

// Heads share no keys: a tile has the queries of one head.
// CHECK-LABEL: gpu.func @own_keys
// CHECK: tile.load {{("[^"]+" )?}}%arg0{{.*}} dims [1, 3]
!q = tensor<?x8x1x64xbf16>
func.func @own_keys(%q: !q, %k: tensor<?x8x?x64xbf16>) -> !q {
  %o = attn.forward %q, %k, %k : !q, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16> -> !q
  return %o : !q
}

// -----

// Dropout's random numbers are indexed by query.
// CHECK-LABEL: gpu.func @dropped
// CHECK: tile.load {{("[^"]+" )?}}%arg0{{.*}} dims [2, 3]
!q = tensor<?x8x1x64xbf16>
!k = tensor<?x2x?x64xbf16>
func.func @dropped(%q: !q, %k: !k, %s: i64) -> !q {
  %o = attn.forward %q, %k, %k dropout(0.5, %s, %s) : !q, !k, !k -> !q
  return %o : !q
}

// -----

// Heads that see different keys have no common bounds.
// CHECK-LABEL: gpu.func @bounds_by_head
// CHECK: tile.load {{("[^"]+" )?}}%arg0{{.*}} dims [2, 3]
!q = tensor<?x8x1x64xbf16>
!k = tensor<?x2x?x64xbf16>
func.func @bounds_by_head(%q: !q, %k: !k) -> !q {
  %o = attn.forward %q, %k, %k
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sle, %j, %h : index
      attn.yield %keep : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %end = arith.addi %h, %c1 : index
      attn.yield %c0, %c0, %end, %end : index, index, index, index
    } : !q, !k, !k -> !q
  return %o : !q
}

// -----

// Few queries: a row per head of the group and, as the fast dimension, per query, padded to a power
// of two. Regions see the head and query of each row.
// CHECK: #[[GRID:.*]] = affine_map<()[s0] -> (s0 * 2)>
// CHECK: launch.abi @few {{.*}} plan(<#warp.{{[a-z0-9_]+}}, tile_m = 64,
// CHECK-SAME: grid(["B"] #[[GRID]])
// CHECK-LABEL: gpu.func @few
// CHECK: %[[HEAD:.*]] = arith.remui %{{.*}}, %c2
// CHECK: %[[FIRST:.*]] = arith.muli %[[HEAD]], %c4
// CHECK: %[[IN:.*]] = arith.divui %{{.*}}, %c4
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[IN]]
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c4
// CHECK: tile.load {{("[^"]+" )?}}%arg0[%{{.*}}, %[[ROW]], %c0{{.*}}, %c0{{.*}}] dims [1, 3] fold [2, 4]
// CHECK: %[[IOTA:.*]] = tile.iota dim 0
// CHECK: arith.divui %[[IOTA]], %{{.*}} : tensor<64x1xi32, #tile.reg>
// CHECK: arith.remui %[[IOTA]], %{{.*}} : tensor<64x1xi32, #tile.reg>
// CHECK: tile.gather %arg3[%{{.*}}] : {{.*}} to tensor<64x1xf32, #tile.reg>
// CHECK: tile.store {{("[^"]+" )?}}%{{.*}}, %arg4[%{{.*}}, %[[ROW]], %{{.*}}, %{{.*}}] limit(%[[END]]) dims [1, 3] fold [2, 4]
// CHECK: tile.store {{("[^"]+" )?}}%{{.*}}, %arg5[%{{.*}}, %[[ROW]], %{{.*}}] limit(%[[END]]) dims [1, -1] fold [2, 4]
!q = tensor<?x8x3x64xbf16>
!k = tensor<?x2x?x64xbf16>
func.func @few(%q: !q, %k: !k, %sinks: tensor<8xf32>) -> (!q, tensor<?x8x3xf32>) {
  %o, %lse = attn.forward %q, %k, %k sinks(%sinks : tensor<8xf32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %x = arith.addi %h, %i : index
      %keep = arith.cmpi sge, %x, %j : index
      attn.yield %keep : i1
    } : !q, !k, !k -> !q, tensor<?x8x3xf32>
  return %o, %lse : !q, tensor<?x8x3xf32>
}

// -----

// A group of 128 rows is two tiles without warp groups, one with two.
// CHECK: #[[$GRID:.*]] = affine_map<()[s0] -> (s0 * 2)>
// CHECK-LABEL: launch.abi @large target(
// CHECK-SAME: plan(<#warp.{{[a-z0-9_]+}}, tile_m = 64,
// CHECK-SAME: grid(["B"] #[[$GRID]])
// HOPPER: #[[$GRID:.*]] = affine_map<()[s0, s1] -> (s0 * (s1 floordiv 64 + 1))>
// HOPPER-LABEL: launch.abi @large target(
// HOPPER-SAME: plan(<#warp.{{[a-z0-9_]+}}, tile_m = 128, {{.*}}warps = 8,
// HOPPER-SAME: grid(["B", "Skv"] #[[$GRID]])
!q = tensor<?x8x16x128xbf16>
!k = tensor<?x1x?x128xbf16>
func.func @large(%q: !q, %k: !k) -> !q {
  %o = attn.forward %q, %k, %k : !q, !k, !k -> !q
  return %o : !q
}

// -----

// Tiles have enough rows without PackGQA.
// CHECK-LABEL: gpu.func @many
// CHECK: tile.load {{("[^"]+" )?}}%arg0{{.*}} dims [2, 3] :
!q = tensor<?x8x17x128xbf16>
!k = tensor<?x1x?x128xbf16>
func.func @many(%q: !q, %k: !k) -> !q {
  %o = attn.forward %q, %k, %k : !q, !k, !k -> !q
  return %o : !q
}
