// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" | FileCheck %s

!qt = tensor<2x4x?x32xbf16>
!kt = tensor<2x4x?x32xbf16>

// CHECK-NOT: func.func
// CHECK-LABEL: gpu.module @dense_module
// CHECK: gpu.func @dense(%[[Q:.*]]: memref<2x4x?x32xbf16, strided<[?, ?, ?, 1]>>, %[[K:.*]]: memref<{{.*}}>, %[[V:.*]]: memref<{{.*}}>, %[[O:.*]]: memref<2x4x?x32xbf16, strided<[?, ?, ?, 1]>>, %[[LSE:.*]]: memref<2x4x?xf32, strided<[?, ?, ?]>>) kernel
func.func @dense(%q: !qt, %k: !kt, %v: !kt) -> (!qt, tensor<2x4x?xf32>) {
  // One CTA per query tile, the last tile of a head first: under a causal mask the last tiles are
  // the longest.
  // CHECK: %[[SQ:.*]] = memref.dim %[[Q]], %{{.*}}
  // CHECK: %[[SKV:.*]] = memref.dim %[[K]]
  // CHECK: %[[GROUP:.*]] = arith.divui
  // CHECK: %[[TILES:.*]] = arith.ceildivui %{{.*}}, %{{.*}}
  // CHECK: %[[HEADS:.*]] = arith.muli
  // CHECK: %[[COUNT:.*]] = arith.muli %[[HEADS]], %[[TILES]]
  // CHECK: %[[LAST:.*]] = arith.subi %[[TILES]], %{{.*}}
  // CHECK: tile.foreach_work %[[ITEM:.*]] to %[[COUNT]] schedule(single) {
  // CHECK: %[[TILE:.*]] = arith.remui %[[ITEM]], %[[TILES]]
  // CHECK: %[[REST:.*]] = arith.divui %[[ITEM]], %[[TILES]]
  // CHECK: %[[REVERSED:.*]] = arith.subi %[[LAST]], %[[TILE]]
  // CHECK: %[[ROW:.*]] = arith.muli %[[REVERSED]], %{{.*}}
  // CHECK: %[[HEAD:.*]] = arith.remui %[[REST]], %{{.*}}
  // CHECK: %[[BATCH:.*]] = arith.divui %[[REST]], %{{.*}}
  // CHECK: %[[KV_HEAD:.*]] = arith.divui %[[HEAD]], %{{.*}}
  // Without a mask all whole blocks are full.
  // CHECK: %[[BLOCKS:.*]] = arith.divui %[[SKV]], %{{.*}}
  // CHECK: %[[WHOLE:.*]] = arith.muli %[[BLOCKS]], %{{.*}}
  // CHECK: %[[FULL:.*]] = arith.maxsi %[[WHOLE]], %[[FIRST:.*]] : index
  // CHECK: %[[QT:.*]] = tile.load "q" %[[Q]][%[[BATCH]], %[[HEAD]], %[[ROW]], %{{.*}}] dims [2, 3] : {{.*}} to tensor<64x32xbf16, #tile.reg>
  // CHECK: %[[M:.*]], %[[L:.*]], %[[ACC:.*]] = tile.softmax_sum "o" %{{.*}} to %[[SKV]] step 32 full(%[[FIRST]], %[[FULL]]) scale(0.176776692)
  // CHECK-NEXT: scores(%[[J:.*]]: index, %[[PARTIAL:.*]]: i1)
  // CHECK: %[[KT:.*]] = tile.load "k" %[[K]][%[[BATCH]], %[[KV_HEAD]], %[[J]], %{{.*}}] dims [2, 3] : {{.*}} to tensor<32x32xbf16, #tile.reg>
  // CHECK: %[[S:.*]] = tile.dot "s" %[[QT]], %[[KT]], %{{.*}} transpose_b
  // CHECK: %[[MASKED:.*]] = scf.if %[[PARTIAL]]
  // CHECK: %[[KEYS:.*]] = arith.index_cast %[[SKV]] : index to i32
  // CHECK: %[[LIMITS:.*]] = tile.broadcast %[[KEYS]] : i32 to tensor<1x32xi32, #tile.reg>
  // CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %[[LIMITS]]
  // CHECK: %[[KEEP:.*]] = tile.broadcast %[[EXISTS]] : tensor<1x32xi1, #tile.reg> to tensor<64x32xi1, #tile.reg>
  // CHECK: %[[HIDDEN:.*]] = arith.constant dense<0xFF800000>
  // CHECK: %[[SELECTED:.*]] = arith.select %[[KEEP]], %[[S]], %[[HIDDEN]]
  // CHECK: scf.yield %[[SELECTED]]
  // CHECK: else
  // CHECK: scf.yield %[[S]]
  // CHECK: tile.yield %[[MASKED]]
  // CHECK: values(%[[JV:.*]]: index)
  // CHECK: %[[VT:.*]] = tile.load "v" %[[V]][%[[BATCH]], %[[KV_HEAD]], %[[JV]], %{{.*}}] dims [2, 3]
  // CHECK: tile.yield %[[VT]]
  // CHECK: %[[OUT:.*]], %[[LOG:.*]] = tile.softmax_finish %[[M]], %[[L]], %[[ACC]]
  // CHECK: %[[NARROW:.*]] = arith.truncf %[[OUT]] : {{.*}} to tensor<64x32xbf16, #tile.reg>
  // CHECK: tile.store "out" %[[NARROW]], %[[O]][%[[BATCH]], %[[HEAD]], %[[ROW]], %{{.*}}] dims [2, 3]
  // CHECK: tile.store "lse" %[[LOG]], %[[LSE]][%[[BATCH]], %[[HEAD]], %[[ROW]]] dims [2, -1]
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.return
  %o, %lse = attn.forward %q, %k, %v : !qt, !kt, !kt -> !qt, tensor<2x4x?xf32>
  return %o, %lse : !qt, tensor<2x4x?xf32>
}

// Without an LSE result no LSE is stored. An f32 output is not rounded.
// CHECK-LABEL: gpu.func @no_lse
// CHECK: %[[OUT:.*]], %{{.*}} = tile.softmax_finish
// CHECK-NOT: arith.truncf
// CHECK: tile.store "out" %[[OUT]],
// CHECK-NEXT: }
  // CHECK-NEXT: gpu.return
func.func @no_lse(%q: !qt, %k: !kt, %v: !kt) -> tensor<2x4x?x32xf32> {
  %o = attn.forward %q, %k, %v : !qt, !kt, !kt -> tensor<2x4x?x32xf32>
  return %o : tensor<2x4x?x32xf32>
}
