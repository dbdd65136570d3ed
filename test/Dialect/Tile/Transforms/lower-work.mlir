// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-work)))' | FileCheck %s

!row = tensor<1x64xf32, #tile.reg>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @single
  // CHECK-SAME: %[[S:.*]]: memref<?x64xf32>, %{{.*}}: index
  // CHECK-NEXT: %[[C0:.*]] = arith.constant 0
  // CHECK-NEXT: %[[W:.*]] = gpu.block_id x
  // CHECK-NEXT: %[[X:.*]] = tile.load %[[S]][%[[W]], %[[C0]]]
  // CHECK-NEXT: tile.store %[[X]]
  // CHECK-NEXT: gpu.return
  gpu.func @single(%S: memref<?x64xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    tile.foreach_work %w to %n schedule(single) {
      %x = tile.load %S[%w, %c0] dims [-1, 1] : memref<?x64xf32> to !row
      tile.store %x, %S[%w, %c0] dims [-1, 1] : !row, memref<?x64xf32>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @others
  // CHECK: tile.foreach_work %{{.*}} to %{{.*}} schedule(static)
  // CHECK: tile.foreach_work %{{.*}} to %{{.*}} schedule(dynamic)
  gpu.func @others(%S: memref<?x64xf32>, %n: index) kernel {
    tile.foreach_work %w to %n schedule(static) {
    }
    tile.foreach_work %w to %n schedule(dynamic) {
    }
    gpu.return
  }

  // The CTAs of a cluster process one item.
  // CHECK-LABEL: gpu.func @cluster
  // CHECK: %[[C:.*]] = gpu.cluster_id x
  // CHECK-NEXT: tile.load %{{.*}}[%[[C]],
  launch.abi @cluster target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, cluster = 2,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"s", write, tensor<?x64xf32>, ["S", "D"], 4>]) parameters([#launch.memref<"s", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (2)>) threads(256) shared_memory(0) cluster(2)
  gpu.func @cluster(%S: memref<?x64xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    tile.foreach_work %w to %n schedule(single) {
      %x = tile.load %S[%w, %c0] dims [-1, 1] : memref<?x64xf32> to !row
      tile.store %x, %S[%w, %c0] dims [-1, 1] : !row, memref<?x64xf32>
    }
    gpu.return
  }
}
