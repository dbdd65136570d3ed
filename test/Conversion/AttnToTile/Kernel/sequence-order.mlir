// Packed sequences with the most keys first: a prologue kernel computes the order.
// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4" --canonicalize --cse | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a" --canonicalize --cse | FileCheck %s --check-prefix=OVERLAP
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=longest_first=0" | FileCheck %s --check-prefix=GIVEN

// Also with a mask.
// RUN: fovea-opt %examples/packed.mlir --attn-analyze-mask --attn-to-tile=target=sm_90a | FileCheck %s --check-prefix=OVERLAP
// RUN: fovea-opt %examples/packed.mlir --attn-analyze-mask --attn-to-tile="target=sm_90a explain-schedule" 2>&1 | FileCheck %s --check-prefix=FACTS
// FACTS: remark: schedule {{.*}}"packed":true
// GIVEN-NOT: longest_first,
// GIVEN-NOT: prologue
// GIVEN-NOT: scratch

// RUN: not fovea-opt %examples/dense.mlir --attn-to-tile="target=sm_80 schedule=longest_first=1" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not fovea-opt %examples/lengths.mlir --attn-to-tile="target=sm_90a schedule=longest_first=1" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: schedule's 'longest_first' needs packed sequences ('packed')
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=longest_first=2" 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: error: schedule's 'longest_first' must be in [0, 1], found 2

!q = tensor<1x4x?x16xf16>
!k = tensor<1x2x?x16xf16>
!n = tensor<?xi32>

// The memory has an entry per sequence and one past the end.
// CHECK-DAG: #[[$EXTENTS:.*]] = affine_map<()[s0] -> (2, s0)>
// CHECK-DAG: #[[$CTAS:.*]] = affine_map<()[s0] -> (s0 ceildiv 8)>
// CHECK-LABEL: launch.abi @packed
// CHECK-SAME: longest_first,
// CHECK-SAME: #launch.scratch_memref<"order", ["N+1"] #[[$EXTENTS]]>
// CHECK-SAME: prologue([@packed_order])
// CHECK-LABEL: gpu.func @packed(
// CHECK-SAME: %[[ORDER:[^ ]*]]: memref<2x?xi32>) kernel
// CHECK-NOT: launch.await_previous
// An item's position is the last one whose first slot is at most the item's.
// CHECK: tile.foreach_work %[[ITEM:.*]] to
// CHECK: %[[SLOT:.*]] = arith.divui %[[ITEM]], %c4
// CHECK: %[[PLACE:.*]]:2 = scf.for
// CHECK: %[[RAW:.*]] = memref.load %[[ORDER]][%c0, %{{.*}}]
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[RAW]]
// CHECK: arith.cmpi ule, %[[FIRST]], %[[SLOT]]
// CHECK: scf.yield
// Its sequence.
// CHECK: %[[NUMBER:.*]] = memref.load %[[ORDER]][%c1, %[[PLACE]]#0]
// CHECK: %[[N:.*]] = arith.index_cast %[[NUMBER]]
// CHECK: memref.load %{{.*}}[%[[N]]] : memref<?xi32, strided<[?]>>
// Regions see its index.
// CHECK: arith.sitofp %[[NUMBER]] : i32 to f32
// CHECK: tile.softmax_sum

// The prologue kernel: 8 positions per warp.
// CHECK:      launch.abi @packed_order target("sm_80")
// CHECK-SAME:   tensors([#launch.tensor<"cu_q", read, tensor<?xi32>, ["N+1"], 4>, #launch.tensor<"cu_k", read, tensor<?xi32>, ["N+1"], 4>])
// CHECK-SAME:   parameters([#launch.memref<"cu_q", [0]>, #launch.memref<"cu_k", [0]>, #launch.scratch_memref<"order", ["N+1"] #[[$EXTENTS]]>])
// CHECK-SAME:   grid(["N+1"] #[[$CTAS]]) threads(32) shared_memory(0)
// CHECK-LABEL: gpu.func @packed_order
// CHECK-SAME:    (%[[CUQ:[^ ]*]]: memref<?xi32, strided<[?]>>, %[[CUK:[^ ]*]]: memref<?xi32, strided<[?]>>, %[[TO:[^ ]*]]: memref<2x?xi32>) kernel
// CHECK-DAG:   %[[PAST:.*]] = arith.constant dense<63> : tensor<64x1xi32, #tile.reg>
// CHECK-DAG:   %[[TILE:.*]] = arith.constant dense<64> : tensor<64x1xi32, #tile.reg>
// CHECK-DAG:   %[[ABSENT:.*]] = arith.constant dense<-1> : tensor<64x1xi32, #tile.reg>
// CHECK:       %[[BLOCK:.*]] = gpu.block_id x
// CHECK:       %[[MINE:.*]] = arith.muli %[[BLOCK]], %c8
// CHECK:       %[[PLACED:.*]] = arith.addi
// CHECK:       tile.load %[[CUK]][%[[MINE]]] dims [-1, 0]
// CHECK:       %[[KEYS:.*]] = arith.maxsi
// CHECK:       %[[SUMS:.*]]:2 = scf.for %[[J:.*]] = %c0 to %{{.*}} step %c64
// CHECK:         %[[LENGTHS:.*]] = arith.maxsi
// CHECK:         arith.select %{{.*}}, %[[LENGTHS]], %[[ABSENT]]
// CHECK:         tile.load %[[CUQ]][%[[J]]] dims [0, -1]
// CHECK:         %[[ROUNDED:.*]] = arith.addi %{{.*}}, %[[PAST]]
// CHECK:         arith.divui %[[ROUNDED]], %[[TILE]]
// CHECK:         %[[LONGER:.*]] = arith.cmpi sgt
// CHECK:         %[[ALIKE:.*]] = arith.cmpi eq
// CHECK:         %[[EARLIER:.*]] = arith.cmpi slt
// CHECK:         %[[TIE:.*]] = arith.andi %[[ALIKE]], %[[EARLIER]]
// CHECK:         arith.ori %[[LONGER]], %[[TIE]]
// CHECK:       %[[SLOTS:.*]] = tile.reduce add dim 0 %[[SUMS]]#0
// CHECK:       %[[AT:.*]] = tile.reduce add dim 0 %[[SUMS]]#1
// CHECK:       tile.scatter %[[SLOTS]], %[[TO]][%c0, %[[AT]]] mask(
// CHECK:       tile.scatter %[[PLACED]], %[[TO]][%c1, %[[AT]]] mask(

// OVERLAP: longest_first,
// OVERLAP: prologue([@packed_order])
// OVERLAP-LABEL: gpu.func @packed(
// OVERLAP: launch.await_previous
// OVERLAP: gpu.func @packed_order(
// OVERLAP: launch.allow_overlap
func.func @packed(%q: !q, %k: !k, %v: !k, %cuq: !n, %cuk: !n) -> !q {
  %o = attn.forward %q, %k, %v packed(%cuq, %cuk : !n, !n)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %n = arith.index_cast %b : index to i32
      %f = arith.sitofp %n : i32 to f32
      %r = arith.mulf %s, %f : f32
      attn.yield %r : f32
    } : !q, !k, !k -> !q
  return %o : !q
}
