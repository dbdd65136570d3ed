// RUN: split-file %s %t
// RUN: fovea-opt %t/boxes.mlir --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize))' | FileCheck %s
// RUN: not fovea-opt %t/rows.mlir --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not fovea-opt %t/threads.mlir --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not fovea-opt %t/cluster.mlir --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not fovea-opt %t/table.mlir --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' 2>&1 | FileCheck %s --check-prefix=TABLE
// TABLE: error: 'warp.copy' op a table of groups is not supported in a role: TMA copies groups whose indices are operands
// CLUSTER: error: 'warp.copy' op does not support groups in a cluster
// ROWS: error: 'warp.copy' op copies groups of a multiple of 8 rows, up to 256, found 4
// THREADS: error: 'tile.load' op 'groups' are supported only where a tile is copied to shared memory

// A box per group, with the group's index.
// CHECK: #launch.tensor_map<"k", [2, 1, 0], box = [64, 16, 1], swizzle = 128>
// CHECK-LABEL: gpu.func @f(
// CHECK-DAG: %[[C0:[a-z0-9_]+]] = arith.constant 0 : i32
// CHECK-DAG: %[[P0:[a-z0-9_]+]] = arith.constant 7 : i32
// CHECK-DAG: %[[P1:[a-z0-9_]+]] = arith.constant 9 : i32
// CHECK: cp.async.bulk.tensor.3d{{.*}} %[[C0]], %[[C0]], %[[P0]],
// CHECK: cp.async.bulk.tensor.3d{{.*}} %[[C0]], %[[C0]], %[[P1]],
// CHECK-NOT: cp.async.bulk.tensor

//--- boxes.mlir
!k = memref<?x?x64xbf16, strided<[?, ?, 1]>>
!b = memref<32x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x?x64xbf16>, ["P", "R", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1, 2]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(98304)
  gpu.func @f(%k: !k) kernel {
    %b = warp.alloc offset(0) : !b
    %p = warp.pipeline offset(65536) : !warp.pipeline<1>
    warp.specialize captures(%k, %b, %p : !k, !b, !warp.pipeline<1>)
      role @load warps(4) regs(24) {
      ^bb0(%k0: !k, %b0: !b, %p0: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %c7 = arith.constant 7 : index
        %c9 = arith.constant 9 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p0[%z, %z] : !warp.pipeline<1>
        warp.copy async %k0[%c7, %c0, %c0, %c9] dims [1, 2] groups [0, 16] to %b0 : !k to !b
        warp.producer_commit %p0[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%k0: !k, %b0: !b, %p0: !warp.pipeline<1>):
        warp.return
      }
    gpu.return
  }
}
//--- table.mlir
!k = memref<?x?x64xbf16, strided<[?, ?, 1]>>
!b = memref<8x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x?x64xbf16>, ["P", "R", "D"], 16>, #launch.tensor<"t", read, tensor<?xi32>, ["T"], 4>])
    parameters([#launch.memref<"k", [0, 1, 2]>, #launch.memref<"t", [0]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(98304)
  gpu.func @f(%k: !k, %t: memref<?xi32>) kernel {
    %b = warp.alloc offset(0) : !b
    %p = warp.pipeline offset(65536) : !warp.pipeline<1>
    warp.specialize captures(%k, %b, %p, %t : !k, !b, !warp.pipeline<1>, memref<?xi32>)
      role @load warps(4) regs(24) {
      ^bb0(%k0: !k, %b0: !b, %p0: !warp.pipeline<1>, %t0: memref<?xi32>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p0[%z, %z] : !warp.pipeline<1>
        warp.copy async %k0[%c0, %c0, %c0] dims [1, 2] groups [0, 8] at %t0[%c0] to %b0 : !k at memref<?xi32> to !b
        warp.producer_commit %p0[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%k0: !k, %b0: !b, %p0: !warp.pipeline<1>, %t0: memref<?xi32>):
        warp.return
      }
    gpu.return
  }
}
//--- rows.mlir
!k = memref<?x?x64xbf16, strided<[?, ?, 1]>>
!b = memref<8x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x?x64xbf16>, ["P", "R", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1, 2]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(98304)
  gpu.func @f(%k: !k) kernel {
    %b = warp.alloc offset(0) : !b
    %p = warp.pipeline offset(65536) : !warp.pipeline<1>
    warp.specialize captures(%k, %b, %p : !k, !b, !warp.pipeline<1>)
      role @load warps(4) regs(24) {
      ^bb0(%k0: !k, %b0: !b, %p0: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p0[%z, %z] : !warp.pipeline<1>
        warp.copy async %k0[%c0, %c0, %c0, %c0] dims [1, 2] groups [0, 4] to %b0 : !k to !b
        warp.producer_commit %p0[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%k0: !k, %b0: !b, %p0: !warp.pipeline<1>):
        warp.return
      }
    gpu.return
  }
}
//--- cluster.mlir
!k = memref<?x?x64xbf16, strided<[?, ?, 1]>>
!b = memref<32x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x?x64xbf16>, ["P", "R", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1, 2]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(98304) cluster(2)
  gpu.func @f(%k: !k) kernel {
    %b = warp.alloc offset(0) : !b
    %p = warp.pipeline offset(65536) : !warp.pipeline<1>
    warp.specialize captures(%k, %b, %p : !k, !b, !warp.pipeline<1>) cluster(2)
      role @load warps(4) regs(24) {
      ^bb0(%k0: !k, %b0: !b, %p0: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p0[%z, %z] : !warp.pipeline<1>
        warp.copy async %k0[%c0, %c0, %c0, %c0] dims [1, 2] groups [0, 16] to %b0 : !k to !b
        warp.producer_commit %p0[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%k0: !k, %b0: !b, %p0: !warp.pipeline<1>):
        warp.return
      }
    gpu.return
  }
}
//--- threads.mlir
!t = tensor<16x8xf32, #warp.mma_sync<warps = 1>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x?x8xf32>, ["P", "R", "D"], 4>])
    parameters([#launch.memref<"k", [0, 1, 2]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @f(%k: memref<?x?x8xf32, strided<[?, ?, ?]>>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0, %c0, %c0] dims [1, 2] groups [0, 8] : memref<?x?x8xf32, strided<[?, ?, ?]>> to !t
    gpu.return
  }
}
