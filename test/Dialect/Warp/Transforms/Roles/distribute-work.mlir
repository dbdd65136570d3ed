// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-distribute-work)))' | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  // The first item of a CTA is its index; the following ones come from `next_work`.
  // CHECK-LABEL: gpu.func @dynamic
  // CHECK-SAME: %[[S:.*]]: memref<?x32xbf16, strided<[?, 1]>>, %[[N:.*]]: index
  // CHECK-NOT: gpu.grid_dim
  // CHECK-DAG: %[[FIRST:.*]] = gpu.block_id x
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK: scf.while (%[[ITEM:.*]] = %[[FIRST]], %[[ROUND:.*]] = %[[ZERO]]) : (index, i32) -> (index, i32) {
  // CHECK: tile.store %{{.*}}, %[[S]][%[[ITEM]],
  // CHECK: %[[NEXT:.*]] = warp.next_work %[[ROUND]] : index
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK-DAG: %[[ROUNDS:.*]] = arith.addi %[[ROUND]], %[[ONE]] : i32
  // CHECK-DAG: %[[MORE:.*]] = arith.cmpi ult, %[[NEXT]], %[[N]] : index
  // CHECK: scf.condition(%[[MORE]]) %[[NEXT]], %[[ROUNDS]] : index, i32
  // CHECK-NEXT: } do {
  // CHECK-NEXT: ^bb0(%[[I:.*]]: index, %[[R:.*]]: i32):
  // CHECK-NEXT: scf.yield %[[I]], %[[R]] : index, i32
  // CHECK-NOT: tile.foreach_work
  launch.abi @dynamic target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @dynamic(%s: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    tile.foreach_work %w to %n schedule(dynamic) {
      tile.store %x, %s[%w, %c0] dims [0, 1] : tensor<64x32xbf16, #tile.reg>, !memory
    }
    gpu.return
  }
}
