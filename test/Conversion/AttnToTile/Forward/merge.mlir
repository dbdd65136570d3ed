// RUN: fovea-opt %s --attn-to-tile=target=sm_80 | FileCheck %s

// The splits' (LSE, 1, O) are softmax states; merging and finishing them yields the result. Splits
// that saw no key enter as zeros.

// CHECK-LABEL: gpu.func @merge
// CHECK-SAME: %[[O0:[a-z0-9]+]]: memref<2x4x?x16xf32{{[^%]*}}%[[O1:[a-z0-9]+]]: memref<2x4x?x16xf32{{[^%]*}}%[[L0:[a-z0-9]+]]: memref<2x4x?xf32{{[^%]*}}%[[L1:[a-z0-9]+]]: memref<2x4x?xf32{{[^%]*}}%[[O:[a-z0-9]+]]: memref<2x4x?x16xbf16{{[^%]*}}%[[LSE:[a-z0-9]+]]:
func.func @merge(%o0: tensor<2x4x?x16xf32>, %l0: tensor<2x4x?xf32>, %o1: tensor<2x4x?x16xf32>, %l1: tensor<2x4x?xf32>)
    -> (tensor<2x4x?x16xbf16>, tensor<2x4x?xf32>) {
  // CHECK: %[[M0:.*]] = tile.load {{("[^"]+" )?}}%[[L0]][{{.*}}] dims [2, -1] : {{.*}} to tensor<[[ROWS:[0-9]+]]x1xf32, #tile.reg>
  // CHECK: %[[A0:.*]] = tile.load {{("[^"]+" )?}}%[[O0]][{{.*}}] dims [2, 3]
  // CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[M0]], %{{.*}}
  // CHECK: arith.select
  // CHECK: %[[M1:.*]] = tile.load {{("[^"]+" )?}}%[[L1]]
  // CHECK: %[[A1:.*]] = tile.load {{("[^"]+" )?}}%[[O1]]
  // CHECK: %[[M:.*]], %[[L:.*]], %[[ACC:.*]] = tile.softmax_merge
  // CHECK: %[[OUT:.*]], %[[LOG:.*]] = tile.softmax_finish %[[M]], %[[L]], %[[ACC]]
  // CHECK: %[[NARROW:.*]] = arith.truncf %[[OUT]]
  // CHECK: tile.store {{("[^"]+" )?}}%[[NARROW]], %[[O]]
  // CHECK: tile.store {{("[^"]+" )?}}%[[LOG]], %[[LSE]]
  %o, %lse = attn.merge (%o0, %l0), (%o1, %l1)
    : tensor<2x4x?x16xf32>, tensor<2x4x?xf32> -> tensor<2x4x?x16xbf16>, tensor<2x4x?xf32>
  return %o, %lse : tensor<2x4x?x16xbf16>, tensor<2x4x?xf32>
}

// Three splits: two merges. Splits of bf16 are extended.
// CHECK-LABEL: gpu.func @three
// CHECK: arith.extf
// CHECK: tile.softmax_merge
// CHECK: tile.softmax_merge
// CHECK-NOT: tile.softmax_merge
// CHECK: tile.softmax_finish
func.func @three(%o: tensor<1x1x?x16xbf16>, %l: tensor<1x1x?xf32>, %o1: tensor<1x1x?x16xbf16>, %l1: tensor<1x1x?xf32>,
                 %o2: tensor<1x1x?x16xbf16>, %l2: tensor<1x1x?xf32>) -> tensor<1x1x?x16xf32> {
  %r = attn.merge (%o, %l), (%o1, %l1), (%o2, %l2) : tensor<1x1x?x16xbf16>, tensor<1x1x?xf32> -> tensor<1x1x?x16xf32>
  return %r : tensor<1x1x?x16xf32>
}

// Stacked parts: one loop over them, with the accumulators of all columns, from the state without
// keys.
// CHECK-LABEL: gpu.func @stacked
// CHECK-SAME: %[[OS:[a-z0-9_]+]]: memref<?x2x4x?x64xbf16{{[^%]*}}%[[LS:[a-z0-9_]+]]: memref<?x2x4x?xf32
// CHECK-DAG: %[[PARTS:.*]] = memref.dim %[[OS]]
// CHECK: %[[STATE:.*]]:4 = scf.for %[[PART:.*]] = %{{.*}} to %[[PARTS]] step %{{.*}} iter_args
// CHECK: tile.load {{("[^"]+" )?}}%[[LS]][%[[PART]], {{.*}}] dims [3, -1]
// CHECK: tile.load {{("[^"]+" )?}}%[[OS]][%[[PART]], {{.*}}] dims [3, 4]
// CHECK: tile.load {{("[^"]+" )?}}%[[OS]][%[[PART]], {{.*}}] dims [3, 4]
// CHECK: tile.softmax_merge
// CHECK: tile.softmax_finish %[[STATE]]#0, %[[STATE]]#1, %[[STATE]]#2, %[[STATE]]#3
func.func @stacked(%os: tensor<?x2x4x?x64xbf16>, %ls: tensor<?x2x4x?xf32>) -> tensor<2x4x?x64xbf16> {
  %r = attn.merge (%os, %ls) : tensor<?x2x4x?x64xbf16>, tensor<?x2x4x?xf32> -> tensor<2x4x?x64xbf16>
  return %r : tensor<2x4x?x64xbf16>
}
