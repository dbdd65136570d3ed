// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize))' --split-input-file --verify-diagnostics | FileCheck %s

// A warp group owns 64 rows, from 64 times its index in the role on. The index
// is warp-uniform.
// CHECK-LABEL: gpu.func @roles
// CHECK-SAME: (%[[O:.*]]: !llvm.ptr<1>)
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[C4:.*]] = arith.constant 4 : i32
// CHECK: %[[UNIFORM:.*]] = nvvm.shfl.sync idx
// CHECK: %[[GROUP:.*]] = arith.divui %[[UNIFORM]], %[[C4]] : i32
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[GROUP]] : i32 to index
// CHECK: %[[FIRST:.*]] = arith.muli %[[INDEX]], %[[C64]] : index
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %{{.*}} step %[[C64]]
// CHECK-NOT: tile.held_rows
!row = tensor<128x1xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @roles target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<128xf32>, ["M"], 4>]) parameters([#launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @roles(%o: memref<128xf32>) kernel {
    warp.specialize captures(%o : memref<128xf32>)
      role @compute warps(8) regs(256) {
      ^bb0(%o0: memref<128xf32>):
        %c0 = arith.constant 0 : index
        %c256 = arith.constant 256 : index
        %zero = arith.constant dense<0.0> : !row
        %first, %count = tile.held_rows !row
        scf.for %i = %first to %c256 step %count {
          tile.store %zero, %o0[%i] dims [0, -1] : !row, memref<128xf32>
        }
        warp.return
      }
    gpu.return
  }
}

// -----

// Without roles the warps own all rows together.
// CHECK-LABEL: gpu.func @one_program
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK: scf.for %{{.*}} = %[[C0]] to %{{.*}} step %[[C64]]
!row = tensor<64x1xf32, #warp.mma_sync<warps = 4>>
gpu.module @m {
  launch.abi @one_program target("sm_80") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<128xf32>, ["M"], 4>]) parameters([#launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @one_program(%o: memref<128xf32>) kernel {
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : !row
    %first, %count = tile.held_rows !row
    scf.for %i = %first to %c256 step %count {
      tile.store %zero, %o[%i] dims [0, -1] : !row, memref<128xf32>
    }
    gpu.return
  }
}
