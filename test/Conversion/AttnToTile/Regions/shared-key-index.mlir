// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=64,warps=4" --split-input-file | FileCheck %s

// An element shared by adjacent keys is loaded once: a row tile per 32 keys, selected by column.
// CHECK-LABEL: gpu.func @bits
// CHECK: tile.softmax_sum
// CHECK: %[[FIRST:.*]] = arith.divui %{{.*}}, %c32
// CHECK: %[[COLUMN:.*]] = tile.iota dim 1 : tensor<1x64xi32, #tile.reg>
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c1
// CHECK: %[[B:.*]] = tile.load %arg3[%{{.*}}, %[[SECOND]]] dims [0, -1] : {{.*}} to tensor<64x1xi32, #tile.reg>
// CHECK: %[[BW:.*]] = tile.broadcast %[[B]]
// CHECK: %[[A:.*]] = tile.load %arg3[%{{.*}}, %{{.*}}] dims [0, -1] : {{.*}} to tensor<64x1xi32, #tile.reg>
// CHECK: %[[AW:.*]] = tile.broadcast %[[A]]
// CHECK: arith.cmpi ult, %[[COLUMN]], %{{.*}} : tensor<1x64xi32, #tile.reg>
// CHECK: arith.select %{{.*}}, %[[AW]], %[[BW]] : tensor<64x64xi1, #tile.reg>, tensor<64x64xi32, #tile.reg>
// CHECK-NOT: tile.gather
!q = tensor<?x?x?x64xbf16>
func.func @bits(%q: !q, %bits: tensor<?x?xi32>) -> !q {
  %o = attn.forward %q, %q, %q captures(%bits : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?x?xi32>) {
      %c5 = arith.constant 5 : index
      %c31 = arith.constant 31 : index
      %at = arith.shrui %j, %c5 : index
      %bit = arith.andi %j, %c31 : index
      %bit32 = arith.index_cast %bit : index to i32
      %word = tensor.extract %t[%i, %at] : tensor<?x?xi32>
      %shifted = arith.shrui %word, %bit32 : i32
      %keep = arith.trunci %shifted : i32 to i1
      attn.yield %keep : i1
    } : !q, !q, !q -> !q
  return %o : !q
}

// -----

// The same for all queries: scalars.
// CHECK-LABEL: gpu.func @by_key
// CHECK: tile.softmax_sum
// CHECK: %[[SIZE:.*]] = memref.dim %arg3
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[AT:.*]], %[[SIZE]]
// CHECK: %[[LAST:.*]] = scf.if %[[INSIDE]] -> (f32)
// CHECK:   memref.load %arg3[%[[AT]]] : memref<?xf32,
// CHECK: } else {
// CHECK: tile.broadcast %[[LAST]] : f32 to tensor<1x64xf32, #tile.reg>
// CHECK: memref.load %arg3
// CHECK: arith.select %{{.*}} : tensor<1x64xi1, #tile.reg>, tensor<1x64xf32, #tile.reg>
// CHECK-NOT: tile.gather
!q = tensor<?x?x?x64xbf16>
func.func @by_key(%q: !q, %page: tensor<?xf32>) -> !q {
  %o = attn.forward %q, %q, %q captures(%page : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>) {
      %c32 = arith.constant 32 : index
      %at = arith.divsi %j, %c32 : index
      %x = tensor.extract %t[%at] : tensor<?xf32>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    } : !q, !q, !q -> !q
  return %o : !q
}

// -----

// Too few adjacent keys, and groups that start elsewhere.
// CHECK-LABEL: gpu.func @not_shared
// CHECK-COUNT-2: tile.gather %arg3
!q = tensor<?x?x?x64xbf16>
func.func @not_shared(%q: !q, %page: tensor<?xf32>) -> !q {
  %o = attn.forward %q, %q, %q captures(%page : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>) {
      %c8 = arith.constant 8 : index
      %c32 = arith.constant 32 : index
      %few = arith.divui %j, %c8 : index
      %shifted = arith.addi %j, %c8 : index
      %at = arith.divui %shifted, %c32 : index
      %x = tensor.extract %t[%few] : tensor<?xf32>
      %y = tensor.extract %t[%at] : tensor<?xf32>
      %p = arith.addf %s, %x : f32
      %r = arith.addf %p, %y : f32
      attn.yield %r : f32
    } : !q, !q, !q -> !q
  return %o : !q
}
