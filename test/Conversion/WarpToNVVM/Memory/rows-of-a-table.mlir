// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize))' | FileCheck %s

// Each thread loads the page of its row from the table, at most the last one, and copies from the
// row's place in that page. A page outside of the pool, or a row past the limit, is zeros.
// CHECK-LABEL: gpu.func @f(
// CHECK: %[[NUMBER:.*]] = arith.divui %[[ROW:.*]], %c3_i32
// CHECK: %[[WIDE:.*]] = arith.extsi %[[NUMBER]] : i32 to i64
// CHECK: arith.minui %[[WIDE]], %{{.*}}
// CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
// CHECK: %[[PAGE:.*]] = llvm.load %[[AT]] invariant : !llvm.ptr<1> -> i32
// CHECK: %[[INDEX:.*]] = arith.extsi %[[PAGE]] : i32 to i64
// CHECK: %[[IN_POOL:.*]] = arith.cmpi ult, %[[INDEX]], %{{.*}} : i64
// CHECK: %[[IN_SEQUENCE:.*]] = arith.cmpi ult, %[[ROW]], %{{.*}} : i32
// CHECK: arith.andi %[[IN_POOL]], %[[IN_SEQUENCE]]
// CHECK: arith.remui %[[ROW]], %c3_i32
// CHECK: nvvm.cp.async.shared.global
!k = memref<?x?x64xbf16, strided<[?, ?, 1]>>
!b = memref<32x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x?x64xbf16>, ["P", "R", "D"], 16>, #launch.tensor<"t", read, tensor<?x?xi32>, ["B", "T"], 4>])
    parameters([#launch.memref<"k", [0, 1, 2]>, #launch.memref<"t", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !k, %t: memref<?x?xi32, strided<[?, ?]>>) kernel {
    %c0 = arith.constant 0 : index
    %j = gpu.block_id x
    %n = gpu.grid_dim x
    %b = warp.alloc offset(1024) : !b
    warp.copy async %k[%c0, %j, %c0] limit(%n) dims [1, 2] groups [0, 3] at %t[%j, %c0] to %b : !k at memref<?x?xi32, strided<[?, ?]>> to !b
    gpu.return
  }
}
