// RUN: fovea-opt %s --attn-to-tile='target=sm_90a schedule=work=single,chain=0' --split-input-file | FileCheck %s

// If warp groups split a tile's rows, kv_bounds is evaluated twice: for the tile, which determines
// the blocks to process, and for the rows owned by the executing warp group, which determines the
// blocks without mask. Owned rows may be past the last query, and are clamped to it.
!t = tensor<1x1x?x64xbf16>
// CHECK-LABEL: gpu.func @groups
// CHECK: %[[SQ:.*]] = memref.dim %arg0
// CHECK: %[[SKV:.*]] = memref.dim %arg1
// CHECK: tile.foreach_work
// CHECK: %[[I0:.*]] = arith.muli %{{.*}}, %c256{{.*}} : index
// CHECK: %[[HI_IN:.*]] = arith.minui %{{.*}}, %[[SKV]]
// CHECK: %[[FIRST:.*]], %[[COUNT:.*]] = tile.held_rows tensor<256x1xf32, #tile.reg>
// CHECK: %[[START:.*]] = arith.addi %[[I0]], %[[FIRST]] : index
// CHECK: %[[END:.*]] = arith.addi %[[START]], %[[COUNT]] : index
// CHECK: %[[MOST:.*]] = arith.subi %[[SQ]], %c1{{.*}} : index
// CHECK: %[[H0:.*]] = arith.minsi %[[START]], %[[MOST]]
// CHECK: %[[CLIPPED:.*]] = arith.minsi %[[END]], %[[SQ]]
// CHECK: %[[H1:.*]] = arith.subi %[[CLIPPED]], %c1{{.*}} : index
// CHECK: %[[FULL:.*]] = arith.addi %[[H0]], %c1{{.*}} : index
// CHECK: %[[FULL_POS:.*]] = arith.maxsi %[[FULL]], %c0
// CHECK: %[[FULL_IN:.*]] = arith.minui %[[FULL_POS]], %[[SKV]]
// CHECK: %[[BLOCK:.*]] = arith.divui %[[FULL_IN]], %c64
// CHECK: %[[FU:.*]] = arith.muli %[[BLOCK]], %c64
// CHECK: %[[FULL_UPPER:.*]] = arith.maxsi %[[FU]], %{{.*}}
// CHECK: tile.softmax_sum {{.*}} to {{.*}} step 64 descending full(%{{.*}}, %[[FULL_UPPER]]) visible(%{{.*}}, %[[HELD_HI:.*]])
func.func @groups(%q: !t, %k: !t, %v: !t) -> !t {
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
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

// Without bounds nothing depends on the rows.
// CHECK-LABEL: gpu.func @no_bounds
// CHECK-NOT: tile.held_rows
!t = tensor<1x1x?x64xbf16>
func.func @no_bounds(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  return %o : !t
}

// -----

// Not if bounds are computed from captured values: wide arithmetic, once per tile.
!t = tensor<1x1x?x64xbf16>
// CHECK-LABEL: gpu.func @captured
// CHECK-NOT: tile.held_rows
// CHECK: tile.softmax_sum
func.func @captured(%q: !t, %k: !t, %v: !t, %n: i64) -> !t {
  %o = attn.forward %q, %k, %v captures(%n : i64)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %first: i64) {
      %wide = arith.index_cast %first : i64 to index
      %place = arith.addi %i, %wide : index
      %past = arith.cmpi sge, %place, %j : index
      attn.yield %past : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index, %first: i64) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %wide = arith.index_cast %first : i64 to index
      %from = arith.addi %i0, %wide : index
      %full = arith.addi %from, %c1 : index
      %to = arith.addi %i1, %wide : index
      %hi = arith.addi %to, %c1 : index
      attn.yield %c0, %c0, %full, %hi : index, index, index, index
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

// Values that are only compared do not count.
!t = tensor<1x1x?x64xbf16>
// CHECK-LABEL: gpu.func @limit
// CHECK: tile.held_rows
// CHECK: tile.softmax_sum
func.func @limit(%q: !t, %k: !t, %v: !t, %n: i64) -> !t {
  %o = attn.forward %q, %k, %v captures(%n : i64)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %end: i64) {
      %wide = arith.index_cast %end : i64 to index
      %before = arith.cmpi slt, %j, %wide : index
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %before, %past : i1
      attn.yield %keep : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index, %end: i64) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %wide = arith.index_cast %end : i64 to index
      %full = arith.addi %i0, %c1 : index
      %hi = arith.addi %i1, %c1 : index
      %fullUpper = arith.minsi %full, %wide : index
      %upper = arith.minsi %hi, %wide : index
      attn.yield %c0, %c0, %fullUpper, %upper : index, index, index, index
    } : !t, !t, !t -> !t
  return %o : !t
}
