// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=lazy},tile-lower-blocks)))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=deferred},tile-lower-blocks)))' | FileCheck %s --check-prefix=DEFERRED

// In a masked block that the owned rows do not see, no maximum is requested, although
// no row has one yet.
// CHECK-LABEL: gpu.func @kernel
// CHECK-SAME: %[[V0:[a-z0-9]+]]: index, %[[V1:[a-z0-9]+]]: index)
// CHECK: scf.for %[[J:[a-z0-9]+]] =
// CHECK: %[[PARTIAL:.*]] = tile.is_partial %[[J]]
// CHECK: %[[SHOWN:.*]] = scf.if %[[PARTIAL]] -> (i1) {
// CHECK: %[[END:.*]] = arith.addi %[[J]], %c64{{.*}} : index
// CHECK: %[[AFTER:.*]] = arith.cmpi sgt, %[[END]], %[[V0]]
// CHECK: %[[BEFORE:.*]] = arith.cmpi slt, %[[J]], %[[V1]]
// CHECK: %[[BOTH:.*]] = arith.andi %[[AFTER]], %[[BEFORE]] : i1
// CHECK: scf.yield %[[BOTH]]
// CHECK: scf.yield %true
// CHECK: %[[GROWN:.*]] = arith.cmpi sge
// CHECK: %[[WIDE:.*]] = tile.broadcast %[[SHOWN]] : i1
// CHECK: %[[ASK:.*]] = arith.andi %[[GROWN]], %[[WIDE]]
// CHECK: tile.if_any %[[ASK]]

// Other recurrences have no ballot for this.
// DEFERRED-LABEL: gpu.func @kernel
// DEFERRED-NOT: arith.cmpi sgt
!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
gpu.module @m {
  gpu.func @kernel(%x: memref<16x64xf32>, %v: memref<64x32xbf16>, %o: memref<16x32xf32>, %lb: index, %ub: index, %v0: index, %v1: index) kernel {
    %c0 = arith.constant 0 : index
    %m, %l, %acc = tile.softmax_sum %lb to %ub step 64 full(%lb, %ub) visible(%v0, %v1) scale(1.0)
      scores(%j: index, %partial: i1) {
        %s = tile.load %x[%c0, %j] dims [0, 1] : memref<16x64xf32> to !full
        tile.yield %s : !full
      }
      values(%j: index) {
        %t = tile.load %v[%j, %c0] dims [0, 1] : memref<64x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %t : tensor<64x32xbf16, #tile.reg>
      } : !row, !acc
    tile.store %acc, %o[%c0, %c0] dims [0, 1] : !acc, memref<16x32xf32>
    gpu.return
  }
}
