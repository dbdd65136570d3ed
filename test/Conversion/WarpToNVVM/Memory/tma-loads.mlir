// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize))' | FileCheck %s

// Copies of one tensor with the same box share a map; boxes are a panel wide
// and at most 256 rows high. Dimensions go from the copy's columns and rows to
// the others, in the host's order.
// CHECK: launch.abi @f
// CHECK-SAME: parameters([#launch.tensor_map<"q", [1, 0], box = [32, 192], swizzle = 64>, #launch.tensor_map<"k", [3, 1, 2, 0], box = [64, 64, 1, 1], swizzle = 128>])
// CHECK-LABEL: gpu.func @f(
// CHECK-SAME: %[[Q:.*]]: !llvm.ptr, %[[K:.*]]: !llvm.ptr) kernel
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : i32
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i32
// CHECK-DAG: %[[C192:.*]] = arith.constant 192 : i32
// CHECK-DAG: %[[FIRST:.*]] = arith.constant 1364590687093260288 : i64
// CHECK-DAG: %[[LAST:.*]] = arith.constant 1508705875169116160 : i64
// CHECK: nvvm.prefetch tensormap, %[[Q]] : !llvm.ptr
// CHECK-NEXT: nvvm.prefetch tensormap, %[[K]] : !llvm.ptr
// CHECK: nvvm.fence.mbarrier.init
// CHECK: %[[LEADER:.*]] = nvvm.elect.sync

// Copies of outer loops only have the evict-first policy: two panels of two
// boxes of 192 rows.
// CHECK: "@${{.*}} cp.async.bulk.tensor.{{.*}} %{{.*}}, %[[Q]], %[[C0]], %[[C0]], %{{.*}}, %[[FIRST]], %[[LEADER]]
// CHECK: "@${{.*}} cp.async.bulk.tensor.{{.*}} %{{.*}}, %[[Q]], %[[C0]], %[[C192]], %{{.*}}, %[[FIRST]], %[[LEADER]]
// CHECK: "@${{.*}} cp.async.bulk.tensor.{{.*}} %{{.*}}, %[[Q]], %[[C32]], %[[C0]], %{{.*}}, %[[FIRST]], %[[LEADER]]
// CHECK: "@${{.*}} cp.async.bulk.tensor.{{.*}} %{{.*}}, %[[Q]], %[[C32]], %[[C192]], %{{.*}}, %[[FIRST]], %[[LEADER]]
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[ROW:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK: "@${{.*}} cp.async.bulk.tensor.{{.*}} %{{.*}}, %[[K]], %[[C0]], %[[ROW]], %{{.*}}, %{{.*}}, %{{.*}}, %[[LAST]], %[[LEADER]]
// The last panel is copied whole: TMA writes zeros out of bounds.
// CHECK: "@${{.*}} cp.async.bulk.tensor.{{.*}} %{{.*}}, %[[K]], %[[C64]], %[[ROW]], %{{.*}}, %{{.*}}, %{{.*}}, %[[LAST]], %[[LEADER]]
// CHECK-NOT: cp.async.bulk.tensor
!k = memref<?x?x?x80xbf16, strided<[?, ?, ?, 1]>>
!q = memref<?x64xf16, strided<[?, 1]>>
!bk = memref<64x80xbf16, #warp.shared<row_bytes = 128>>
!bq = memref<384x64xf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x?x?x80xbf16>, ["B", "S", "H", "D"], 16>, #launch.tensor<"q", read, tensor<?x64xf16>, ["Sq", "E"], 16>])
    parameters([#launch.memref<"k", [0, 2, 1, 3]>, #launch.memref<"q", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(98304)
  gpu.func @f(%k: !k, %q: !q) kernel {
    %bk = warp.alloc offset(0) : !bk
    %bq = warp.alloc offset(16384) : !bq
    %p = warp.pipeline offset(65536) : !warp.pipeline<1>
    %r = warp.pipeline offset(65552) : !warp.pipeline<1>
    warp.specialize captures(%k, %q, %bk, %bq, %p, %r : !k, !q, !bk, !bq, !warp.pipeline<1>, !warp.pipeline<1>)
      role @load warps(4) regs(24) {
      ^bb0(%k0: !k, %q0: !q, %bk0: !bk, %bq0: !bq, %p0: !warp.pipeline<1>, %r0: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %c256 = arith.constant 256 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %r0[%z, %z] : !warp.pipeline<1>
        warp.copy async %q0[%c0, %c0] dims [0, 1] to %bq0 : !q to !bq
        warp.producer_commit %r0[%z, %z] : !warp.pipeline<1>
        scf.for %i = %c0 to %c256 step %c64 {
          warp.producer_acquire %p0[%z, %z] : !warp.pipeline<1>
          warp.copy async %k0[%c0, %c64, %i, %c0] dims [2, 3] to %bk0 : !k to !bk
          warp.producer_commit %p0[%z, %z] : !warp.pipeline<1>
        }
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%k1: !k, %q1: !q, %bk1: !bk, %bq1: !bq, %p1: !warp.pipeline<1>, %r1: !warp.pipeline<1>):
        warp.return
      }
    gpu.return
  }
}
