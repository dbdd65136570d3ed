// RUN: fovea-opt %s --attn-to-tile='target=sm_90a schedule=warps=4,tile_m=64,tile_n=32,work=static' --canonicalize --cse | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=work=dynamic" --canonicalize --cse | FileCheck %s --check-prefix=DYNAMIC

// With dynamic scheduling all L2 sections start with their longest tiles. Each head's first tiles
// are tail tiles: at most 512 over all heads, with 32 MiB of keys.
// DYNAMIC-LABEL: gpu.func @uneven
// DYNAMIC: %[[B:.*]] = memref.dim %arg0, %c0
// DYNAMIC: %[[HEADS:.*]] = arith.muli %[[B]], %c4
// DYNAMIC: %[[SECTION:.*]] = arith.minui %[[HEADS]], %c128
// DYNAMIC: %[[SOME:.*]] = arith.maxui %[[HEADS]], %c1
// DYNAMIC: %[[FIT:.*]] = arith.divui %c512, %[[SOME]]
// DYNAMIC: %[[COUNT:.*]] = arith.muli %[[B]], %c16
// DYNAMIC: %[[FINAL:.*]] = arith.minui %[[FIT]], %c4
// DYNAMIC: %[[LATE:.*]] = arith.muli %[[HEADS]], %[[FINAL]]
// DYNAMIC: %[[BEFORE:.*]] = arith.subi %[[COUNT]], %[[LATE]]
// DYNAMIC: tile.foreach_work %[[W:.*]] to %[[COUNT]] schedule(dynamic) {
// DYNAMIC-NEXT: %[[IS_LATE:.*]] = arith.cmpi uge, %[[W]], %[[BEFORE]]
// DYNAMIC-NEXT: %[[BEHIND:.*]] = arith.subi %[[W]], %[[BEFORE]]
// DYNAMIC-NEXT: %[[ITEM:.*]] = arith.select %[[IS_LATE]], %[[BEHIND]], %[[W]]
// DYNAMIC-NEXT: %[[EARLY:.*]] = arith.subi %c4, %[[FINAL]]
// DYNAMIC-NEXT: %[[TILES:.*]] = arith.select %[[IS_LATE]], %[[FINAL]], %[[EARLY]]
// DYNAMIC-NEXT: %[[WIDTH:.*]] = arith.select %[[IS_LATE]], %[[HEADS]], %[[SECTION]]
// DYNAMIC-NEXT: %[[TOP:.*]] = arith.subi %[[FINAL]], %c1
// DYNAMIC-NEXT: %[[FROM:.*]] = arith.select %[[IS_LATE]], %[[TOP]], %c3
// DYNAMIC-NEXT: %[[SIZE:.*]] = arith.muli %[[WIDTH]], %[[TILES]]
// DYNAMIC-NEXT: arith.divui %[[ITEM]], %[[SIZE]]
// DYNAMIC: arith.subi %[[FROM]], %{{.*}}
// DYNAMIC: tile.load

!t = tensor<2x4x1024x64xf16>

// Even tiles: the tiles of one head are consecutive, rows ascending. Tile-invariant values precede
// the loop.
// CHECK: launch.abi @even
// CHECK-SAME: persistent(1)
// CHECK-LABEL: gpu.func @even
// CHECK-DAG: %[[COUNT:.*]] = arith.constant 128 : index
// CHECK: tile.foreach_work %[[W:.*]] to %[[COUNT]] schedule(static) {
// CHECK-NEXT: %[[TILE:.*]] = arith.remui %[[W]], %c16
// CHECK-NEXT: %[[REST:.*]] = arith.divui %[[W]], %c16
// CHECK-NEXT: %[[ROW:.*]] = arith.muli %[[TILE]], %c64
// CHECK-NEXT: %[[HEAD:.*]] = arith.remui %[[REST]], %c4
// CHECK-NEXT: %[[BATCH:.*]] = arith.divui %[[REST]], %c4
// CHECK: tile.load {{("[^"]+" )?}}%{{.*}}[%[[BATCH]], %[[HEAD]], %[[ROW]], %c0]
func.func @even(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  return %o : !t
}

// Uneven tiles: one L2 section of heads at a time, the last tiles of all its heads first. A head's
// keys and values take 256 KiB here, so that 128 of them fit 32 MiB. Every other section runs
// backwards, but not the last one.
!u = tensor<?x4x1024x64xf16>
// CHECK-LABEL: gpu.func @uneven
// CHECK: %[[B:.*]] = memref.dim %arg0, %c0
// CHECK: %[[HEADS:.*]] = arith.muli %[[B]], %c4
// CHECK: %[[SECTION:.*]] = arith.minui %[[HEADS]], %c128
// CHECK: tile.foreach_work %[[W:.*]] to %{{.*}} schedule(static) {
// CHECK-NEXT: %[[SIZE:.*]] = arith.muli %[[SECTION]], %c16
// CHECK-NEXT: %[[NUMBER:.*]] = arith.divui %[[W]], %[[SIZE]]
// CHECK-NEXT: %[[INSIDE:.*]] = arith.remui %[[W]], %[[SIZE]]
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[NUMBER]], %[[SECTION]]
// CHECK-NEXT: %[[LEFT:.*]] = arith.subi %[[HEADS]], %[[FIRST]]
// CHECK-NEXT: %[[WIDTH:.*]] = arith.minui %[[LEFT]], %[[SECTION]]
// CHECK-NEXT: %[[DOWN:.*]] = arith.divui %[[INSIDE]], %[[WIDTH]]
// CHECK-NEXT: %[[UP:.*]] = arith.subi %c15, %[[DOWN]]
// CHECK-NEXT: %[[MOST:.*]] = arith.subi %[[HEADS]], %c1
// CHECK-NEXT: %[[LAST:.*]] = arith.divui %[[MOST]], %[[SECTION]]
// CHECK-NEXT: %[[TO_COME:.*]] = arith.subi %[[LAST]], %[[NUMBER]]
// CHECK-NEXT: %[[ODD:.*]] = arith.andi %[[TO_COME]], %c1
// CHECK-NEXT: %[[TURNED:.*]] = arith.cmpi ne, %[[ODD]], %c0
// CHECK-NEXT: %[[TILE:.*]] = arith.select %[[TURNED]], %[[DOWN]], %[[UP]]
// CHECK-NEXT: %[[OFFSET:.*]] = arith.remui %[[INSIDE]], %[[WIDTH]]
// CHECK-NEXT: %[[ALL:.*]] = arith.addi %[[FIRST]], %[[OFFSET]]
// CHECK-NEXT: %[[ROW:.*]] = arith.muli %[[TILE]], %c64
// CHECK-NEXT: %[[HEAD:.*]] = arith.remui %[[ALL]], %c4
// CHECK-NEXT: %[[BATCH:.*]] = arith.divui %[[ALL]], %c4
func.func @uneven(%q: !u, %k: !u, %v: !u) -> !u {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %full = arith.addi %i0, %c1 : index
      %hi = arith.addi %i1, %c1 : index
      attn.yield %c0, %c0, %full, %hi : index, index, index, index
    } : !u, !u, !u -> !u
  return %o : !u
}
