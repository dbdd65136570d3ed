// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" -cse -canonicalize | FileCheck %s

// Values that depend on the relative position of query and key alone are computed once per relative
// position of a block, from those of one query: the block's last one.

!t = tensor<1x2x?x16xf16>

// With a factor and a uniform term, also per relative position.
// CHECK-LABEL: gpu.func @logarithm
// CHECK: scores(%[[J:.*]]: index
// CHECK: %[[S:.*]] = tile.dot
// CHECK: %[[LAST:.*]] = arith.addi %{{.*}}, %c63 : index
// CHECK: tile.iota dim 1 : tensor<1x96xi32, #tile.reg>
// CHECK: %[[D:.*]] = arith.subi %{{.*}}, %{{.*}} : tensor<1x96xi32, #tile.reg>
// CHECK: %[[L:.*]] = math.log %{{.*}} : tensor<1x96xf32, #tile.reg>
// CHECK: %[[HALF:.*]] = arith.mulf %[[L]], %{{.*}} : tensor<1x96xf32, #tile.reg>
// CHECK: %[[SUM:.*]] = arith.addf %[[HALF]], %{{.*}} : tensor<1x96xf32, #tile.reg>
// CHECK: %[[X:.*]] = tile.diagonals %[[SUM]] : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
// CHECK: arith.addf %[[S]], %[[X]]
func.func @logarithm(%q: !t, %k: !t, %v: !t, %slopes: tensor<2xf32>) -> !t {
  %o = attn.forward %q, %k, %v scale(1.0) captures(%slopes : tensor<2xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %slopes: tensor<2xf32>) {
      %slope = tensor.extract %slopes[%h] : tensor<2xf32>
      %half = arith.constant 0.5 : f32
      %d = arith.subi %i, %j : index
      %e = math.absi %d : index
      %n = arith.index_cast %e : index to i32
      %x = arith.sitofp %n : i32 to f32
      %l = math.log %x : f32
      %y = arith.mulf %l, %half : f32
      %sum = arith.addf %s, %slope : f32
      %r = arith.addf %sum, %y : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// Sums of coordinates stay ramps, masks comparisons of coordinates.
// CHECK-LABEL: gpu.func @cheap
// CHECK-NOT: tile.diagonals
// CHECK: tile.ramp
// CHECK-NOT: tile.diagonals
// CHECK: gpu.return
func.func @cheap(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %eight = arith.constant 8.0 : f32
      %zero = arith.constant 0 : index
      %least = arith.constant -1.0 : f32
      %d = arith.subi %j, %i : index
      %n = arith.index_cast %d : index to i32
      %x = arith.sitofp %n : i32 to f32
      %y = arith.divf %x, %eight : f32
      %sum = arith.addf %s, %y : f32
      %past = arith.cmpi sle, %d, %zero : index
      %r = arith.select %past, %sum, %least : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// A table indexed by the value of another table at the relative position. Values that are combined
// with the score, or with a query, are computed per score.
// CHECK-LABEL: gpu.func @tables
// CHECK: %[[BUCKET:.*]] = tile.gather %arg3[%{{.*}}] : {{.*}} to tensor<1x96xi32, #tile.reg>
// CHECK: %[[BIAS:.*]] = tile.gather %arg4[%{{.*}}] : {{.*}} to tensor<1x96xf32, #tile.reg>
// CHECK: %[[FULL:.*]] = tile.diagonals %[[BIAS]] : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
// CHECK: arith.mulf %{{.*}}, %[[FULL]] : tensor<64x32xf32, #tile.reg>
// CHECK: tile.gather %arg4[%{{.*}}] : {{.*}} to tensor<64x32xf32, #tile.reg>
func.func @tables(%q: !t, %k: !t, %v: !t, %buckets: tensor<?xi32>, %table: tensor<?xf32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%buckets, %table : tensor<?xi32>, tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %buckets: tensor<?xi32>, %table: tensor<?xf32>) {
      %i32 = arith.index_cast %i : index to i32
      %j32 = arith.index_cast %j : index to i32
      %d32 = arith.subi %j32, %i32 : i32
      %d = arith.index_cast %d32 : i32 to index
      %bucket = tensor.extract %buckets[%d] : tensor<?xi32>
      %place = arith.index_cast %bucket : i32 to index
      %bias = tensor.extract %table[%place] : tensor<?xf32>
      %product = arith.mulf %s, %bias : f32
      %both = arith.addi %place, %i : index
      %other = tensor.extract %table[%both] : tensor<?xf32>
      %r = arith.addf %product, %other : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// Differences of narrower integers, extended again, are not relative positions: they wrap where
// coordinates do not.
// CHECK-LABEL: gpu.func @narrow
// CHECK-NOT: tile.diagonals
// CHECK: tile.gather %arg3[%{{.*}}] : {{.*}} to tensor<64x32xf32, #tile.reg>
func.func @narrow(%q: !t, %k: !t, %v: !t, %table: tensor<?xf32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%table : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %table: tensor<?xf32>) {
      %i8 = arith.index_cast %i : index to i8
      %j8 = arith.index_cast %j : index to i8
      %i16 = arith.extsi %i8 : i8 to i16
      %j16 = arith.extsi %j8 : i8 to i16
      %d = arith.subi %j16, %i16 : i16
      %place = arith.index_cast %d : i16 to index
      %bias = tensor.extract %table[%place] : tensor<?xf32>
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
