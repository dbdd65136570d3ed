// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1,longest_first=0" --canonicalize --cse | FileCheck %s

!q = tensor<1x4x?x16xf16>
!k = tensor<1x2x?x16xf16>
!n = tensor<?xi32>

// The grid has a slot per 64 queries and one per offset.
// CHECK: #[[GRID:.*]] = affine_map<()[s0, s1] -> ((s0 floordiv 64 + s1) * 4)>
// CHECK: grid(["Sq", "N+1"] #[[GRID]])
// CHECK-SAME: constraints([#launch.multiple<"Hq", of "Hkv">, #launch.at_most<"B", 1>,
// CHECK-LABEL: gpu.func @packed
// CHECK-SAME: %[[CUQ:[^ ]*]]: memref<?xi32, strided<[?]>>, %[[CUK:[^ ]*]]: memref<?xi32, strided<[?]>>
// An item's sequence is the last one whose first slot is at most the item's.
// CHECK: tile.foreach_work %[[ITEM:.*]] to
// CHECK: %[[SLOT:.*]] = arith.divui %[[ITEM]], %c4
// CHECK: %[[FOUND:.*]]:2 = scf.for
// CHECK: %[[RAW:.*]] = memref.load %[[CUQ]]
// CHECK: arith.divui %{{.*}}, %c64
// CHECK: %[[BEFORE:.*]] = arith.cmpi ule, %{{.*}}, %[[SLOT]]
// CHECK: scf.yield
// Its rows, clamped to the tensors.
// CHECK: memref.load %[[CUQ]][%[[FOUND]]#0]
// CHECK: arith.maxsi
// CHECK: %[[FIRSTQ:.*]] = arith.minsi
// CHECK: memref.load %[[CUK]][%[[FOUND]]#0]
// CHECK: arith.maxsi
// CHECK: %[[FIRSTK:.*]] = arith.minsi
// Items past the end and tiles past the last query see no keys.
// CHECK: %[[QUERIES:.*]] = arith.select %{{.*}}, %{{.*}}, %c0
// CHECK: %[[ISIN:.*]] = arith.cmpi slt, %[[ROW:.*]], %[[QUERIES]]
// CHECK: %[[KEYS:.*]] = arith.select %[[ISIN]], %{{.*}}, %c0
// CHECK: %[[ENDQ:.*]] = arith.addi %[[FIRSTQ]], %[[QUERIES]]
// CHECK: %[[ENDK:.*]] = arith.addi %[[FIRSTK]], %[[KEYS]]
// CHECK: %[[AT:.*]] = arith.addi %[[FIRSTQ]], %[[ROW]]
// CHECK: tile.load {{("[^"]+" )?}}%arg0[%c0, %{{.*}}, %[[AT]], %c0] dims [2, 3]
// CHECK: tile.softmax_sum "o" %{{.*}} to %[[KEYS]]
// CHECK: tile.load {{("[^"]+" )?}}%arg1[%c0, %{{.*}}, %{{.*}}, %c0] dims [2, 3]
// CHECK: tile.load {{("[^"]+" )?}}%arg2[%c0, %{{.*}}, %{{.*}}, %c0] limit(%[[ENDK]]) dims [2, 3]
// CHECK: tile.store {{("[^"]+" )?}}%{{.*}}, %arg5[%c0, %{{.*}}, %[[AT]], %c0] limit(%[[ENDQ]]) dims [2, 3]
// CHECK: tile.store {{("[^"]+" )?}}%{{.*}}, %arg6[%c0, %{{.*}}, %[[AT]]] limit(%[[ENDQ]]) dims [2, -1]
func.func @packed(%q: !q, %k: !k, %v: !k, %cuq: !n, %cuk: !n) -> (!q, tensor<1x4x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v packed(%cuq, %cuk : !n, !n) : !q, !k, !k -> !q, tensor<1x4x?xf32>
  return %o, %lse : !q, tensor<1x4x?xf32>
}
