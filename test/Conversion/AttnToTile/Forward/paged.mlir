// Keys in pages: the batch index of K and V is an entry of the page table, clamped like the index of the entry, and V
// ends with the keys in the page.
// RUN: fovea-opt %s --attn-to-tile=target=sm_80 --canonicalize --split-input-file | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile=target=sm_90a --canonicalize --split-input-file | FileCheck %s --check-prefix=HOPPER

// The lengths are bounded by the room in the table; kernels need an entry and a page.
// CHECK: launch.abi @halves
// CHECK-SAME: #launch.tensor<"k", read, tensor<?x1x128x64xbf16>, ["pages", "Hkv", "page", "D"], 16>
// CHECK-SAME: #launch.tensor<"page_table", read, tensor<2x?xi32>, ["B", "P"], 4>
// CHECK-SAME: #launch.at_most<"P", 8388608>, #launch.at_least<"pages", 1>, #launch.at_least<"P", 1>
// CHECK-SAME: contents([#launch.contents<"lengths", of "P" times = 128>, #launch.contents<"page_table", of "pages" page = 128 entries = "lengths">])
// CHECK-LABEL: gpu.func @halves(
// CHECK: %[[P:.*]] = memref.dim %arg3, %c1
// CHECK: %[[ROOM:.*]] = arith.muli %[[P]], %c128
// CHECK: %[[LENGTH:.*]] = arith.minsi %{{.*}}, %[[ROOM]]
// CHECK: scores(%[[KEY:.*]]: index, %{{.*}}: i1)
// CHECK: %[[ENTRY:.*]] = arith.divui %[[KEY]], %c128
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c1
// CHECK: %[[LASTPAGE:.*]] = arith.subi %{{.*}}, %c1
// CHECK: %[[EXISTING:.*]] = arith.minui %[[ENTRY]], %[[LAST]]
// CHECK: %[[PAGE:.*]] = memref.load %arg3[%[[B:.*]], %[[EXISTING]]]
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[PAGE]] : i32 to index
// CHECK: %[[CLAMPED:.*]] = arith.minui %[[INDEX]], %[[LASTPAGE]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[ENTRY]], %c128
// CHECK: %[[ROW:.*]] = arith.subi %[[KEY]], %[[FIRST]]
// CHECK: tile.load "k" %arg1[%[[CLAMPED]], %{{.*}}, %[[ROW]], %c0] dims
// CHECK: values(%[[KEY:.*]]: index)
// CHECK: %[[ENTRY:.*]] = arith.divui %[[KEY]], %c128
// CHECK: %[[FIRST:.*]] = arith.muli %[[ENTRY]], %c128
// CHECK: %[[ROW:.*]] = arith.subi %[[KEY]], %[[FIRST]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[LENGTH]], %[[FIRST]]
// CHECK: %[[END:.*]] = arith.maxsi %[[LEFT]], %c0
// CHECK: tile.load "v" %arg2[%{{.*}}, %{{.*}}, %[[ROW]], %c0] limit(%[[END]]) dims
// HOPPER-LABEL: gpu.func @halves(
// HOPPER: tile.load "k"
func.func @halves(%q: tensor<2x2x?x64xbf16>, %k: tensor<?x1x128x64xbf16>, %t: tensor<2x?xi32>, %n: tensor<2xi32>) -> tensor<2x2x?x64xbf16> {
  %o = attn.forward %q, %k, %k paged(%t, %n : tensor<2x?xi32>, tensor<2xi32>, page = 128)
    : tensor<2x2x?x64xbf16>, tensor<?x1x128x64xbf16>, tensor<?x1x128x64xbf16> -> tensor<2x2x?x64xbf16>
  return %o : tensor<2x2x?x64xbf16>
}

// -----

// A block is a page: its row is 0. The planners choose the block.
// CHECK: launch.abi @whole {{.*}} tile_n = 64,
// CHECK-LABEL: gpu.func @whole(
// CHECK: tile.load "k" %arg1[%{{.*}}, %{{.*}}, %c0, %c0] dims
// HOPPER: launch.abi @whole {{.*}} tile_n = 64,
// HOPPER-LABEL: gpu.func @whole(
// HOPPER: tile.load "k" %arg1[%{{.*}}, %{{.*}}, %c0, %c0] dims
func.func @whole(%q: tensor<2x2x?x64xbf16>, %k: tensor<?x1x64x64xbf16>, %t: tensor<2x?xi32>, %n: tensor<2xi32>) -> tensor<2x2x?x64xbf16> {
  %o = attn.forward %q, %k, %k paged(%t, %n : tensor<2x?xi32>, tensor<2xi32>, page = 64)
    : tensor<2x2x?x64xbf16>, tensor<?x1x64x64xbf16>, tensor<?x1x64x64xbf16> -> tensor<2x2x?x64xbf16>
  return %o : tensor<2x2x?x64xbf16>
}

// -----

// Block-sparse lists name blocks of logical keys. Blocks divide pages and the blocks of the lists.
// CHECK: launch.abi @lists {{.*}} tile_n = 32,
// CHECK-SAME: #launch.contents<"partial_index", of "P" times = 64 block = 96 entries = "partial_count">
// CHECK-LABEL: gpu.func @lists(
// HOPPER: launch.abi @lists {{.*}} tile_n = 32,
// HOPPER-LABEL: gpu.func @lists(
func.func @lists(%q: tensor<2x2x?x64xbf16>, %k: tensor<?x1x64x64xbf16>, %t: tensor<2x?xi32>, %n: tensor<2xi32>,
                 %c: tensor<2x2x?xi32>, %i: tensor<2x2x?x?xi32>) -> tensor<2x2x?x64xbf16> {
  %o = attn.forward %q, %k, %k paged(%t, %n : tensor<2x?xi32>, tensor<2xi32>, page = 64)
    blocks(%c, %i : tensor<2x2x?xi32>, tensor<2x2x?x?xi32>, size = [128, 96])
    : tensor<2x2x?x64xbf16>, tensor<?x1x64x64xbf16>, tensor<?x1x64x64xbf16> -> tensor<2x2x?x64xbf16>
  return %o : tensor<2x2x?x64xbf16>
}
