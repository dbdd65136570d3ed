// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" | FileCheck %s

// Coordinates are below 2^30: values that provably fit are computed in i32, all others in i64.

!t = tensor<1x1x?x16xf16>

// CHECK-LABEL: gpu.func @narrow
// CHECK-NOT: xi64
// CHECK: gpu.return
func.func @narrow(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c4095 = arith.constant 4095 : index
      %first = arith.subi %i, %c4095 : index
      %keep = arith.cmpi sge, %j, %first : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK-LABEL: gpu.func @wide
func.func @wide(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c1009 = arith.constant 1009 : index
      %c64 = arith.constant 64 : index
      %c32 = arith.constant 32 : index
      // The product does not fit 32 bits; the remainder does again.
      // CHECK: arith.extsi %{{.*}} : tensor<64x1xi32, #tile.reg> to tensor<64x1xi64, #tile.reg>
      // CHECK: %[[HASH:.*]] = arith.muli %{{.*}} : tensor<64x1xi64, #tile.reg>
      %hash = arith.muli %i, %c1009 : index
      // CHECK: %[[REM:.*]] = arith.remui %[[HASH]], %{{.*}} : tensor<64x1xi64, #tile.reg>
      // CHECK: arith.trunci %[[REM]] : tensor<64x1xi64, #tile.reg> to tensor<64x1xi32, #tile.reg>
      %small = arith.remui %hash, %c64 : index
      // CHECK: arith.cmpi ult, %{{.*}} : tensor<64x1xi32, #tile.reg>
      %keep = arith.cmpi ult, %small, %c32 : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Casts only change the width.
// CHECK-LABEL: gpu.func @casts
func.func @casts(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      // CHECK: scf.if
      // CHECK-NOT: index_cast {{.*}}#tile.reg
      // CHECK: arith.extsi %{{.*}} : tensor<64x1xi32, #tile.reg> to tensor<64x1xi64, #tile.reg>
      %wide = arith.index_cast %i : index to i64
      // CHECK: arith.trunci %{{.*}} : tensor<1x32xi32, #tile.reg> to tensor<1x32xi8, #tile.reg>
      %byte = arith.index_cast %j : index to i8
      // CHECK: arith.extui %{{.*}} : tensor<1x32xi8, #tile.reg> to tensor<1x32xi32, #tile.reg>
      %back = arith.index_castui %byte : i8 to index
      %c7 = arith.constant 7 : i64
      %a = arith.cmpi sgt, %wide, %c7 : i64
      // CHECK: arith.cmpi slt, %{{.*}} : tensor<64x32xi32, #tile.reg>
      %c = arith.cmpi slt, %back, %i : index
      %keep = arith.andi %a, %c : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Divisions of non-negative values are unsigned, also of integers.
// CHECK-LABEL: gpu.func @unsigned
// CHECK: arith.divui %{{.*}} : tensor<64x1xi32, #tile.reg>
// CHECK: arith.remui %{{.*}} : tensor<1x32xi32, #tile.reg>
// CHECK: arith.subi %{{.*}} : tensor<64x32xi32, #tile.reg>
// CHECK: math.absi %{{.*}} : tensor<64x32xi32, #tile.reg>
// CHECK: arith.divui %{{.*}} : tensor<64x32xi32, #tile.reg>
// CHECK: arith.remsi %{{.*}} : tensor<64x32xi32, #tile.reg>
func.func @unsigned(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c48 = arith.constant 48 : index
      %x = arith.floordivsi %i, %c48 : index
      %y = arith.remsi %j, %c48 : index
      %d = arith.subi %x, %y : index
      %a = math.absi %d : index
      %z = arith.divsi %a, %c48 : index
      %s = arith.remsi %d, %c48 : index
      %keep = arith.cmpi sge, %z, %s : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
