// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// A thread holds 16 elements of 32 x 16, 8 of each 16 x 16: two counters, and
// ten rounds of two products on vectors of both.
// CHECK-LABEL: gpu.func @f
// CHECK-COUNT-20: arith.muli %{{.*}}, %{{.*}} : vector<2xi64>
// CHECK-NOT: arith.muli {{.*}}: vector
// CHECK: arith.andi %{{.*}}, %c65535_i32 : i32
// CHECK: arith.shrui %{{.*}}, %c16_i32 : i32
!tile = tensor<32x16xi32, #warp.mma_sync<warps = 1>>
gpu.module @m {
  tile.abi @f target("sm_80") schedule(<tile_m = 32, tile_n = 16, warps = 1, stages = 1, query_in_registers = 0, min_blocks = 1>)
    tensors([#tile.tensor<"o", write, tensor<?x16xi32>, ["S", "D"], 4>])
    parameters([#tile.memref<"o", [0, 1]>, #tile.scalar<"key", i64>, #tile.scalar<"stream", i64>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @f(%o: memref<?x16xi32, strided<[?, 1]>>, %key: i64, %stream: i64) kernel {
    %c0 = arith.constant 0 : index
    %c48 = arith.constant 48 : index
    %r = tile.random key(%key) stream(%stream) [%c48, %c0] : !tile
    tile.store %r, %o[%c0, %c0] dims [0, 1] : !tile, memref<?x16xi32, strided<[?, 1]>>
    gpu.return
  }
}
