// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" | FileCheck %s

!t = tensor<1x4x?x16xf16>

// CHECK-LABEL: gpu.func @extracts
// CHECK-SAME: %arg3: memref<4xf32, strided<[?]>>, %arg4: memref<4x?x?xf32, strided<[?, ?, ?]>>, %arg5: memref<?xi32, strided<[?]>>,
func.func @extracts(%q: !t, %k: !t, %v: !t, %slopes: tensor<4xf32>, %bias: tensor<4x?x?xf32>, %ids: tensor<?xi32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%slopes, %bias, %ids : tensor<4xf32>, tensor<4x?x?xf32>, tensor<?xi32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %slopes: tensor<4xf32>, %bias: tensor<4x?x?xf32>, %ids: tensor<?xi32>) {
      %c5 = arith.constant 5 : index
      // Uniform: a scalar load before the loop.
      // CHECK: %[[SLOPE:.*]] = memref.load %arg3[%[[H:[a-z0-9_]+]]]
      // CHECK: scores(%[[J:.*]]: index,
      %slope = tensor.extract %slopes[%h] : tensor<4xf32>
      // Unit steps along rows and columns: a tile load from its first element.
      // CHECK: %[[ROW:.*]] = arith.addi %[[I:.*]], %{{.*}} : index
      // CHECK: tile.load {{("[^"]+" )?}}%arg4[%[[H]], %[[ROW]], %[[J]]] dims [1, 2] : memref<4x?x?xf32, {{.*}} to tensor<64x32xf32, #tile.reg>
      %row = arith.addi %i, %c5 : index
      %full = tensor.extract %bias[%h, %row, %j] : tensor<4x?x?xf32>
      // Rows and columns of the tile may be transposed in memory.
      // CHECK: tile.load {{("[^"]+" )?}}%arg4[%[[H]], %[[J]], %[[I]]] dims [2, 1]
      %swapped = tensor.extract %bias[%h, %j, %i] : tensor<4x?x?xf32>
      // CHECK: %[[FIRST:.*]] = arith.subi %[[J]], %{{.*}} : index
      // CHECK: tile.load {{("[^"]+" )?}}%arg5[%[[FIRST]]] dims [-1, 0] : {{.*}} to tensor<1x32xi32, #tile.reg>
      %column = arith.subi %j, %c5 : index
      %id = tensor.extract %ids[%column] : tensor<?xi32>
      // CHECK: tile.load {{("[^"]+" )?}}%arg5[%[[I]]] dims [0, -1] : {{.*}} to tensor<64x1xi32, #tile.reg>
      %rowId = tensor.extract %ids[%i] : tensor<?xi32>
      // Loaded, scaled, reversed or repeated coordinates are gathered. So are relative positions,
      // once per relative position.
      // CHECK: tile.gather %arg5[%{{.*}}] : {{.*}} to tensor<1x32xi32, #tile.reg>
      %double = arith.muli %j, %c5 : index
      %scaled = tensor.extract %ids[%double] : tensor<?xi32>
      // CHECK: %[[RELATIVE:.*]] = tile.gather %arg5[%{{.*}}] : {{.*}} to tensor<1x96xi32, #tile.reg>
      %distance = arith.subi %i, %j : index
      %relative = tensor.extract %ids[%distance] : tensor<?xi32>
      // CHECK: tile.gather %arg4[%[[H]], %{{.*}}, %{{.*}}] : {{.*}} to tensor<64x1xf32, #tile.reg>
      %diagonal = tensor.extract %bias[%h, %i, %i] : tensor<4x?x?xf32>
      // CHECK: tile.gather %arg5[%{{.*}}] : {{.*}} to tensor<64x1xi32, #tile.reg>
      %negative = arith.subi %c5, %i : index
      %reversed = tensor.extract %ids[%negative] : tensor<?xi32>
      %sum0 = arith.addf %full, %swapped : f32
      %sum1 = arith.addf %sum0, %diagonal : f32
      %sum2 = arith.mulf %sum1, %slope : f32
      %ids0 = arith.addi %id, %rowId : i32
      %ids1 = arith.addi %ids0, %scaled : i32
      // CHECK: tile.diagonals %[[RELATIVE]] : tensor<1x96xi32, #tile.reg> to tensor<64x32xi32, #tile.reg>
      %ids2 = arith.addi %ids1, %relative : i32
      %ids3 = arith.addi %ids2, %reversed : i32
      %f = arith.sitofp %ids3 : i32 to f32
      %r = arith.addf %sum2, %f : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// A captured tensor's size is that of the memref.
// CHECK-LABEL: gpu.func @size
// CHECK: scf.if
// CHECK: memref.dim %arg3, %{{.*}} : memref<?xi32
func.func @size(%q: !t, %k: !t, %v: !t, %ids: tensor<?xi32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%ids : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %ids: tensor<?xi32>) {
      %c0 = arith.constant 0 : index
      %n = tensor.dim %ids, %c0 : tensor<?xi32>
      %keep = arith.cmpi slt, %j, %n : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
