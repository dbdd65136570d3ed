// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax,tile-lower-blocks,cse)))' | FileCheck %s

!row = tensor<16x1xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @merge
  // CHECK-SAME:    %[[MA:[a-z0-9]+]]: tensor<16x1xf32, #tile.reg>, %[[LA:[a-z0-9]+]]: tensor<16x1xf32, #tile.reg>, %[[ACCA:[a-z0-9]+]]: tensor<16x32xf32, #tile.reg>
  // CHECK-SAME:    %[[MB:[a-z0-9]+]]: tensor<16x1xf32, #tile.reg>, %[[LB:[a-z0-9]+]]: tensor<16x1xf32, #tile.reg>, %[[ACCB:[a-z0-9]+]]: tensor<16x32xf32, #tile.reg>
  gpu.func @merge(%mA: !row, %lA: !row, %accA: !acc, %mB: !row, %lB: !row, %accB: !acc,
                  %M: memref<16x1xf32>, %O: memref<16x32xf32>) {
    // CHECK:      %[[M:.*]] = arith.maximumf %[[MA]], %[[MB]]
    // CHECK:      %[[EMPTY:.*]] = arith.cmpf oeq, %[[M]], %{{.*}}
    // CHECK:      %[[REF:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[M]]
    // CHECK-NEXT: %[[DA:.*]] = arith.subf %[[MA]], %[[REF]]
    // CHECK:      %[[XA:.*]] = arith.mulf %[[DA]], %{{.*}}
    // CHECK-NEXT: %[[FA:.*]] = math.exp2 %[[XA]]
    // CHECK-NEXT: %[[DB:.*]] = arith.subf %[[MB]], %[[REF]]
    // CHECK:      %[[FB:.*]] = math.exp2
    // CHECK-NEXT: %[[LB1:.*]] = arith.mulf %[[LB]], %[[FB]]
    // CHECK-NEXT: %[[L:.*]] = math.fma %[[LA]], %[[FA]], %[[LB1]]
    // CHECK-DAG:  %[[WA:.*]] = tile.broadcast %[[FA]]
    // CHECK-DAG:  %[[WB:.*]] = tile.broadcast %[[FB]]
    // CHECK:      %[[ACCB1:.*]] = arith.mulf %[[ACCB]], %[[WB]]
    // CHECK:      %[[ACC:.*]] = math.fma %[[ACCA]], %[[WA]], %[[ACCB1]]
    // CHECK-NEXT: tile.store %[[M]]
    // CHECK-NEXT: tile.store %[[L]]
    // CHECK-NEXT: tile.store %[[ACC]]
    %c0 = arith.constant 0 : index
    %m, %l, %acc = tile.softmax_merge (%mA, %lA, %accA), (%mB, %lB, %accB) : !row, !row, !acc
    tile.store %m, %M[%c0, %c0] dims [0, 1] : !row, memref<16x1xf32>
    tile.store %l, %M[%c0, %c0] dims [0, 1] : !row, memref<16x1xf32>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : !acc, memref<16x32xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @finish
  // CHECK-SAME:    %[[M:[a-z0-9]+]]: tensor<16x1xf32, #tile.reg>, %[[L:[a-z0-9]+]]: tensor<16x1xf32, #tile.reg>, %[[ACC:[a-z0-9]+]]: tensor<16x32xf32, #tile.reg>
  gpu.func @finish(%m: !row, %l: !row, %acc: !acc, %M: memref<16x1xf32>, %O: memref<16x32xf32>) {
    // CHECK:      %[[EMPTY:.*]] = arith.cmpf oeq, %[[L]], %
    // CHECK:      %[[INV:.*]] = arith.divf %{{.*}}, %[[L]]
    // CHECK-NEXT: %[[W:.*]] = tile.broadcast %[[INV]]
    // CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[ACC]], %[[W]]
    // CHECK-NEXT: %[[O:.*]] = tile.if_any %[[EMPTY]] init(%[[SCALED]]
    // CHECK-NEXT: ^bb0(%[[ARG:.*]]: tensor<16x32xf32, #tile.reg>):
    // CHECK:      arith.select %{{.*}}, %{{.*}}, %[[ARG]]
    // CHECK:      %[[LOG:.*]] = math.log2 %[[L]]
    // CHECK:      %[[SUM:.*]] = math.fma %[[LOG]], %{{.*}}, %[[M]]
    // CHECK:      %[[LSE:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[SUM]]
    // CHECK-NEXT: tile.store %[[O]]
    // CHECK-NEXT: tile.store %[[LSE]]
    %c0 = arith.constant 0 : index
    %o, %lse = tile.softmax_finish %m, %l, %acc : !row, !acc
    tile.store %o, %O[%c0, %c0] dims [0, 1] : !acc, memref<16x32xf32>
    tile.store %lse, %M[%c0, %c0] dims [0, 1] : !row, memref<16x1xf32>
    gpu.return
  }

  // A state of one score without a value is merged first.
  // CHECK-LABEL: gpu.func @sink
  // CHECK-SAME:    %[[M:[a-z0-9]+]]: tensor<16x1xf32, #tile.reg>, %[[L:[a-z0-9]+]]: tensor<16x1xf32, #tile.reg>, %[[ACC:[a-z0-9]+]]: tensor<16x32xf32, #tile.reg>, %[[S:[a-z0-9]+]]: tensor<16x1xf32, #tile.reg>
  gpu.func @sink(%m: !row, %l: !row, %acc: !acc, %s: !row, %M: memref<16x1xf32>, %O: memref<16x32xf32>) {
    // CHECK:      %[[EMPTY:.*]] = arith.cmpf oeq, %[[L]], %
    // CHECK:      %[[MAX:.*]] = arith.maximumf %[[M]], %[[S]]
    // CHECK:      %[[REF:.*]] = arith.select %{{.*}}, %{{.*}}, %[[MAX]]
    // CHECK:      arith.subf %[[M]], %[[REF]]
    // CHECK:      %[[SHARE:.*]] = math.exp2
    // CHECK:      arith.subf %[[S]], %[[REF]]
    // CHECK:      %[[SINK:.*]] = math.exp2
    // CHECK:      %[[SUM:.*]] = math.fma %[[L]], %[[SHARE]], %[[SINK]]
    // CHECK:      %[[NONE:.*]] = arith.cmpf oeq, %[[SUM]], %
    // CHECK:      %[[INV:.*]] = arith.divf %[[SHARE]], %[[SUM]]
    // CHECK-NEXT: %[[W:.*]] = tile.broadcast %[[INV]]
    // CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[ACC]], %[[W]]
    // CHECK-NEXT: %[[O:.*]] = tile.if_any %[[EMPTY]] init(%[[SCALED]]
    // CHECK:      %[[LOG:.*]] = math.log2 %[[SUM]]
    // CHECK:      %[[LSUM:.*]] = math.fma %[[LOG]], %{{.*}}, %[[MAX]]
    // CHECK:      %[[LSE:.*]] = arith.select %[[NONE]], %{{.*}}, %[[LSUM]]
    // CHECK-NEXT: tile.store %[[O]]
    // CHECK-NEXT: tile.store %[[LSE]]
    %c0 = arith.constant 0 : index
    %o, %lse = tile.softmax_finish %m, %l, %acc sink(%s : !row) : !row, !acc
    tile.store %o, %O[%c0, %c0] dims [0, 1] : !acc, memref<16x32xf32>
    tile.store %lse, %M[%c0, %c0] dims [0, 1] : !row, memref<16x1xf32>
    gpu.return
  }
}
