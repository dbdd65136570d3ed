// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" | FileCheck %s

// Each op has the joined shape of its operands: uniform < row, column < full.

!t = tensor<?x?x?x16xf16>

// CHECK-LABEL: gpu.func @lattice
func.func @lattice(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c1 = arith.constant 1 : index
      // CHECK: scf.if
      // Their sum may need 33 bits.
      // CHECK: %[[UNIFORM:.*]] = arith.addi %{{.*}}, %{{.*}} : i64
      %uniform = arith.addi %b, %h : index
      // CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %{{.*}} : tensor<64x1xi32, #tile.reg>
      %row = arith.muli %i, %c1 : index
      // CHECK: %[[COLUMN:.*]] = arith.muli %{{.*}}, %{{.*}} : tensor<1x32xi32, #tile.reg>
      %column = arith.muli %j, %c1 : index
      // CHECK: %[[R:.*]] = tile.broadcast %[[ROW]] : tensor<64x1xi32, #tile.reg> to tensor<64x32xi32, #tile.reg>
      // CHECK: %[[C:.*]] = tile.broadcast %[[COLUMN]] : tensor<1x32xi32, #tile.reg> to tensor<64x32xi32, #tile.reg>
      // CHECK: %[[FULL:.*]] = arith.cmpi sge, %[[R]], %[[C]] : tensor<64x32xi32, #tile.reg>
      %full = arith.cmpi sge, %row, %column : index
      // CHECK: tile.broadcast %[[UNIFORM]] : i64 to tensor<64x1xi64, #tile.reg>
      // CHECK: arith.cmpi sge, %{{.*}}, %{{.*}} : tensor<64x1xi64, #tile.reg>
      %rows = arith.cmpi sge, %i, %uniform : index
      // CHECK: arith.andi %[[FULL]], %{{.*}} : tensor<64x32xi1, #tile.reg>
      %keep = arith.andi %full, %rows : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// A region on the batch or the head alone yields a scalar, broadcast at the end.
// CHECK-LABEL: gpu.func @uniform
func.func @uniform(%q: !t, %k: !t, %v: !t) -> !t {
  // CHECK: scf.if
  // CHECK: %[[EVEN:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : index
  // CHECK: %[[WIDE:.*]] = tile.broadcast %[[EVEN]] : i1 to tensor<64x32xi1, #tile.reg>
  // CHECK: %[[KEPT:.*]] = arith.select %[[WIDE]]
  // Keys past the end are masked in the last block only.
  // CHECK: %[[RAGGED:.*]] = arith.cmpi sgt
  // CHECK: scf.if %[[RAGGED]]
  // CHECK: arith.select %{{.*}}, %[[KEPT]]
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c2 = arith.constant 2 : index
      %c0 = arith.constant 0 : index
      %r = arith.remui %h, %c2 : index
      %keep = arith.cmpi eq, %r, %c0 : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Lengths are the run-time sizes.
// CHECK-LABEL: gpu.func @lengths
func.func @lengths(%q: !t, %k: !t, %v: !t) -> !t {
  // CHECK: %[[SQ:.*]] = memref.dim %arg0, %{{.*}}
  // CHECK: %[[SKV:.*]] = memref.dim %arg1, %{{.*}}
  // CHECK: scf.if
  // CHECK: arith.subi %[[SKV]], %{{.*}} : index
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %nq = attn.query_length
      %nk = attn.key_length
      %shift = arith.subi %nk, %nq : index
      %last = arith.addi %i, %shift : index
      %keep = arith.cmpi sge, %last, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
