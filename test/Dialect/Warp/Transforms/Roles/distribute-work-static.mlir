// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-distribute-work)))' | FileCheck %s

gpu.module @m {
  // The stride is the grid size; no index is fetched.
  // CHECK-LABEL: gpu.func @static
  // CHECK-SAME: %[[N:.*]]: index
  // CHECK: %[[FIRST:.*]] = gpu.block_id x
  // CHECK: %[[GRID:.*]] = gpu.grid_dim x
  // CHECK: scf.while (%[[ITEM:.*]] = %[[FIRST]],
  // CHECK-NOT: warp.next_work
  // CHECK: %[[NEXT:.*]] = arith.addi %[[ITEM]], %[[GRID]] : index
  // CHECK: %[[MORE:.*]] = arith.cmpi ult, %[[NEXT]], %[[N]] : index
  // CHECK: scf.condition(%[[MORE]]) %[[NEXT]],
  launch.abi @static target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = static,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @static(%n: index) kernel {
    tile.foreach_work %w to %n schedule(static) {
    }
    gpu.return
  }

  // A kernel without a work loop does not change.
  // CHECK-LABEL: gpu.func @none
  // CHECK-NEXT: gpu.return
  launch.abi @none target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @none() kernel {
    gpu.return
  }

  // The CTAs of a cluster share work items.
  // CHECK-LABEL: gpu.func @cluster
  // CHECK-SAME: %[[N:.*]]: index
  // CHECK: %[[FIRST:.*]] = gpu.cluster_id x
  // CHECK: %[[GRID:.*]] = gpu.cluster_dim x
  // CHECK: scf.while (%[[ITEM:.*]] = %[[FIRST]],
  // CHECK: arith.addi %[[ITEM]], %[[GRID]] : index
  launch.abi @cluster target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, cluster = 2, work = static,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (2)>) threads(256) shared_memory(0) persistent(1) cluster(2)
  gpu.func @cluster(%n: index) kernel {
    tile.foreach_work %w to %n schedule(static) {
    }
    gpu.return
  }
}
