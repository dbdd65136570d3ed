// RUN: fovea-opt %s --fovea-to-tile=target=sm_90a | FileCheck %s
// RUN: fovea-opt %s --fovea-to-tile="target=sm_90a schedule=chain=1" | FileCheck %s --check-prefix=WHOLE
// RUN: fovea-opt %s --fovea-to-tile=target=sm_80 | FileCheck %s --check-prefix=SM80

// Packed queries over pages. The groups of the work are sequences, which count their tiles of 128
// rows, four heads of a query in adjacent rows. Offsets of queries and batch entries are checked.
// CHECK-LABEL: launch.abi @any
// CHECK-SAME: tile_m = 128, tile_n = 64, warps = 8,
// CHECK-SAME: work = shares
// CHECK-SAME: constraints([{{.*}}#launch.one_more<"B+1", than "B">, #launch.at_most<"Bq", 1>
// CHECK: gpu.func @any(%[[Q:[a-z0-9]+]]: memref<1x8x?x64xbf16,
// CHECK-SAME: %[[CU:[a-z0-9]+]]: memref<?xi32, strided<[?]>>, %[[TABLE:[a-z0-9]+]]: memref<?x?xi32, strided<[?, ?]>>, %[[N:[a-z0-9]+]]: memref<?xi32,
// CHECK: tile.foreach_work %[[ITEM:[a-z0-9]+]] blocks({{[^)]*}}) part({{[^)]*}}) tile(%[[TILE:[a-z0-9]+]]) to %{{[a-z0-9]+}} schedule(shares) per(%c2)
// CHECK-NEXT: tiles(%[[G:[a-z0-9]+]]: index) {
// CHECK: memref.load %[[CU]][%[[G]]]
// CHECK: %[[ROWS:[a-z0-9_]+]] = arith.muli %{{.*}}, %c4
// CHECK: %[[TILES:[a-z0-9_]+]] = arith.ceildivui %[[ROWS]], %c128
// CHECK: %[[SOME:[a-z0-9_]+]] = arith.maxui %[[TILES]], %c1
// CHECK: tile.yield %[[SOME]]
// CHECK: extent(%[[OF:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index) {
// CHECK: memref.load %[[N]][%[[OF]]]
// CHECK: } do {
// CHECK: %[[B:[a-z0-9_]+]] = arith.divui %[[ITEM]], %c2
// CHECK: %[[H:[a-z0-9_]+]] = arith.remui %[[ITEM]], %c2
// CHECK: %[[ROW:[a-z0-9_]+]] = arith.muli %[[TILE]], %c128
// CHECK: %[[HEAD:[a-z0-9_]+]] = arith.muli %[[H]], %c4
// CHECK: %[[QUERY:[a-z0-9_]+]] = arith.divui %[[ROW]], %c4
// CHECK: %[[PLACE:[a-z0-9_]+]] = arith.addi %{{.*}}, %[[QUERY]]
// CHECK: tile.load "q" %[[Q]][%c0{{.*}}, %[[HEAD]], %[[PLACE]], %c0{{.*}}] dims [2, 3] fold [1, 4]
// CHECK: memref.load %[[TABLE]][%[[B]],
// What needs whole items gets them.
// WHOLE-LABEL: launch.abi @any
// WHOLE-SAME: work = dynamic
// WHOLE: tile.foreach_work %{{.*}} to %{{.*}} schedule(dynamic)
// SM80-LABEL: launch.abi @any
// SM80: tile.foreach_work %{{.*}} to %{{.*}} schedule(shares)
func.func @any(%q: tensor<1x8x?x64xbf16>, %k: tensor<?x2x64x64xbf16>, %cu_q: tensor<?xi32>, %table: tensor<?x?xi32>, %n: tensor<?xi32>)
    -> tensor<1x8x?x64xbf16> {
  %o = attn.forward %q, %k, %k packed(%cu_q : tensor<?xi32>) paged(%table, %n : tensor<?x?xi32>, tensor<?xi32>, page = 64)
    : tensor<1x8x?x64xbf16>, tensor<?x2x64x64xbf16>, tensor<?x2x64x64xbf16> -> tensor<1x8x?x64xbf16>
  return %o : tensor<1x8x?x64xbf16>
}

// At most 64 rows share keys: one warp group.
// CHECK-LABEL: launch.abi @few
// CHECK-SAME: tile_m = 64, tile_n = 64, warps = 4,
// CHECK-SAME: work = shares
func.func @few(%q: tensor<1x8x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %cu_q: tensor<?xi32>, %n: tensor<?xi32>) -> tensor<1x8x?x64xbf16> {
  %o = attn.forward %q, %k, %k packed(%cu_q : tensor<?xi32>, most = 16) lengths(%n : tensor<?xi32>)
    : tensor<1x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16> -> tensor<1x8x?x64xbf16>
  return %o : tensor<1x8x?x64xbf16>
}

// Three heads of a query are in four adjacent rows, of which three exist.
// CHECK-LABEL: gpu.func @three
// CHECK: tile.load "q" {{.*}} dims [2, 3] fold [1, 4, 3] :
// CHECK: tile.store "out" {{.*}} dims [2, 3] fold [1, 4, 3] :
func.func @three(%q: tensor<1x6x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %cu_q: tensor<?xi32>, %n: tensor<?xi32>) -> tensor<1x6x?x64xbf16> {
  %o = attn.forward %q, %k, %k packed(%cu_q : tensor<?xi32>) lengths(%n : tensor<?xi32>)
    : tensor<1x6x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16> -> tensor<1x6x?x64xbf16>
  return %o : tensor<1x6x?x64xbf16>
}

// Each of more than 16 heads of a query has tiles.
// CHECK-LABEL: gpu.func @many
// CHECK: tile.load "q" {{.*}} dims [2, 3] :
func.func @many(%q: tensor<1x34x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %cu_q: tensor<?xi32>, %n: tensor<?xi32>) -> tensor<1x34x?x64xbf16> {
  %o = attn.forward %q, %k, %k packed(%cu_q : tensor<?xi32>) lengths(%n : tensor<?xi32>)
    : tensor<1x34x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16> -> tensor<1x34x?x64xbf16>
  return %o : tensor<1x34x?x64xbf16>
}
