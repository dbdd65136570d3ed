// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" | FileCheck %s

!t = tensor<1x1x?x16xf16>

// kv_bounds is evaluated once, for the tile's first and last query, clamped to existing queries;
// the four results are clamped to the keys and rounded to blocks: outwards for the range, inwards
// for its full part.
// CHECK-LABEL: gpu.func @bounds
func.func @bounds(%q: !t, %k: !t, %v: !t) -> !t {
  // CHECK: %[[SQ:.*]] = memref.dim %arg0
  // CHECK: %[[SKV:.*]] = memref.dim %arg1
  // CHECK: tile.foreach_work
  // CHECK: %[[I0:.*]] = arith.muli %{{.*}}, %c64{{.*}} : index
  // CHECK: %[[END:.*]] = arith.addi %[[I0]], %c64{{.*}} : index
  // CHECK: %[[CLIPPED:.*]] = arith.minsi %[[END]], %[[SQ]]
  // CHECK: %[[I1:.*]] = arith.subi %[[CLIPPED]], %c1{{.*}} : index
  // CHECK: %[[LO:.*]] = arith.subi %[[I0]], %c100
  // CHECK: %[[FULL_HI:.*]] = arith.addi %[[I0]], %c1_[[N:.*]] : index
  // CHECK: %[[HI:.*]] = arith.addi %[[I1]], %c1_[[N]] : index
  // CHECK: %[[LO_POS:.*]] = arith.maxsi %[[LO]], %c0
  // CHECK: %[[LO_IN:.*]] = arith.minui %[[LO_POS]], %[[SKV]]
  // CHECK: %[[FL_POS:.*]] = arith.maxsi %[[I1]], %c0
  // CHECK: %[[FL_IN:.*]] = arith.minui %[[FL_POS]], %[[SKV]]
  // CHECK: %[[FH_POS:.*]] = arith.maxsi %[[FULL_HI]], %c0
  // CHECK: %[[FH_IN:.*]] = arith.minui %[[FH_POS]], %[[SKV]]
  // CHECK: %[[HI_POS:.*]] = arith.maxsi %[[HI]], %c0
  // CHECK: %[[HI_IN:.*]] = arith.minui %[[HI_POS]], %[[SKV]]
  // CHECK: %[[LO_BLOCK:.*]] = arith.divui %[[LO_IN]], %c32
  // CHECK: %[[LOWER:.*]] = arith.muli %[[LO_BLOCK]], %c32
  // CHECK: %[[FL_BLOCK:.*]] = arith.ceildivui %[[FL_IN]], %c32
  // CHECK: %[[FULL_LOWER:.*]] = arith.muli %[[FL_BLOCK]], %c32
  // CHECK: %[[FH_BLOCK:.*]] = arith.divui %[[FH_IN]], %c32
  // CHECK: %[[FH:.*]] = arith.muli %[[FH_BLOCK]], %c32
  // CHECK: %[[FULL_UPPER:.*]] = arith.maxsi %[[FH]], %[[FULL_LOWER]]
  // CHECK: tile.softmax_sum "o" %[[LOWER]] to %[[HI_IN]] step 32 full(%[[FULL_LOWER]], %[[FULL_UPPER]])
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      %c100 = arith.constant 100 : index
      %c1 = arith.constant 1 : index
      %lo = arith.subi %i0, %c100 : index
      %full = arith.addi %i0, %c1 : index
      %hi = arith.addi %i1, %c1 : index
      attn.yield %lo, %i1, %full, %hi : index, index, index, index
    } : !t, !t, !t -> !t
  return %o : !t
}

// A mask without bounds: all keys are processed, no block is full.
// CHECK-LABEL: gpu.func @mask_only
// CHECK: %[[SKV:.*]] = memref.dim %arg1
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: arith.divui %[[ZERO]], %c32
// CHECK: arith.ceildivui %[[ZERO]], %c32
// CHECK: arith.divui %[[ZERO]], %c32
// CHECK: tile.softmax_sum "o" %{{.*}} to %[[SKV]] step 32
func.func @mask_only(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Bounds may read captures and lengths, as scalars.
// CHECK-LABEL: gpu.func @captured
// CHECK: %[[SKV:.*]] = memref.dim %arg1
// CHECK: %[[N:.*]] = memref.load %arg3[%{{.*}}] : memref<?xi32, {{.*}}>
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[N]] : i32 to index
// CHECK: %[[LOWER:.*]] = arith.maxsi %[[FIRST]], %c0
// CHECK: arith.minui %[[LOWER]], %[[SKV]]
// The length needs no limit.
// CHECK-NOT: arith.maxsi %[[SKV]]
// CHECK: tile.softmax_sum
func.func @captured(%q: !t, %k: !t, %v: !t, %n: tensor<?xi32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%n : tensor<?xi32>)
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index, %n: tensor<?xi32>) {
      %c0 = arith.constant 0 : index
      %narrow = tensor.extract %n[%b] : tensor<?xi32>
      %first = arith.index_cast %narrow : i32 to index
      %keys = attn.key_length
      attn.yield %first, %c0, %c0, %keys : index, index, index, index
    } : !t, !t, !t -> !t
  return %o : !t
}
