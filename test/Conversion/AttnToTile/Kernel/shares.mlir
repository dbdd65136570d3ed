// Several items have shares of the keys of one tile: consecutive items, so that they run at the same time. Each decodes
// to a position of its own.
// RUN: fovea-work-test %s --shares=3 | FileCheck %s
// RUN: fovea-work-test %s | FileCheck %s --check-prefix=WHOLE

// CHECK-LABEL: gpu.func @work(
// CHECK-SAME: %[[BATCH:[a-z0-9]+]]: index, %[[HEADS:[a-z0-9]+]]: index, %[[ROWS:[a-z0-9]+]]: index,
// CHECK: %[[TILES:.*]] = arith.ceildivui %[[ROWS]], %c64
// CHECK: %[[ALL:.*]] = arith.muli %[[BATCH]], %[[HEADS]]
// CHECK: %[[COUNT:.*]] = arith.muli %[[ALL]], %[[TILES]]
// CHECK: %[[ITEMS:.*]] = arith.muli %[[COUNT]], %c3
// CHECK: tile.foreach_work %[[ITEM:.*]] to %[[ITEMS]]
// CHECK: %[[SHARE:.*]] = arith.remui %[[ITEM]], %c3
// CHECK: %[[OF:.*]] = arith.divui %[[ITEM]], %c3
// CHECK: arith.remui %[[OF]], %[[TILES]]
// CHECK: %[[HEAD:.*]] = arith.divui %[[OF]], %[[TILES]]
// CHECK: %[[H:.*]] = arith.remui %[[HEAD]], %[[HEADS]]
// CHECK: %[[B:.*]] = arith.divui %[[HEAD]], %[[HEADS]]
// CHECK: memref.store %[[ITEM]], %{{.*}}[%[[B]], %[[H]], %{{.*}}, %[[SHARE]]]

// WHOLE-LABEL: gpu.func @work(
// WHOLE: %[[COUNT:.*]] = arith.muli %{{.*}}, %{{.*}}
// WHOLE: tile.foreach_work %[[ITEM:.*]] to %
// WHOLE-NOT: %c3
// WHOLE: memref.store %[[ITEM]], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %c0

!t = tensor<1x1x?x16xf16>
func.func @f(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q : !t, !t, !t -> !t
  return %o : !t
}
