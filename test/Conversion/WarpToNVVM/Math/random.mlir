// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file --verify-diagnostics > %t
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=EXCHANGE < %t

// A thread holds two columns of each 8, in four rows: parts of eight counters.
// It computes two of them, for four lanes: 2, 3 and 3 products in the first
// three steps, because they differ in one word only, then 4. Lanes exchange
// words in two steps.
// EXCHANGE-LABEL: gpu.func @rows
// EXCHANGE-COUNT-8: nvvm.shfl.sync bfly
// EXCHANGE-NOT: nvvm.shfl
// CHECK-LABEL: gpu.func @rows
// CHECK-COUNT-24: arith.muli %{{.*}}, %{{.*}} : i64
// CHECK-NOT: arith.muli {{.*}}c3528531795_i64
// CHECK: arith.andi %{{.*}}, %c65535_i32 : i32
// CHECK: arith.shrui %{{.*}}, %c16_i32 : i32
!tile = tensor<32x16xi32, #warp.mma_sync<warps = 1>>
gpu.module @m {
  launch.abi @rows target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x16xi32>, ["S", "D"], 4>])
    parameters([#launch.memref<"o", [0, 1]>, #launch.scalar<"key", i64>, #launch.scalar<"stream", i64>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0) generator(1)
  gpu.func @rows(%o: memref<?x16xi32, strided<[?, 1]>>, %key: i64, %stream: i64) kernel {
    %c0 = arith.constant 0 : index
    %c48 = arith.constant 48 : index
    %r = tile.random key(%key) stream(%stream) [%c48, %c0] dim 1 : !tile
    tile.store %r, %o[%c0, %c0] dims [0, 1] : !tile, memref<?x16xi32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

// Along columns eight lanes share a counter, and each needs one half of a word
// of it: the last step exchanges halves.
// EXCHANGE-LABEL: gpu.func @columns
// EXCHANGE-COUNT-8: nvvm.prmt
// EXCHANGE-NOT: nvvm.prmt
!tile = tensor<32x16xi32, #warp.mma_sync<warps = 1>>
gpu.module @m {
  launch.abi @columns target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x16xi32>, ["S", "D"], 4>])
    parameters([#launch.memref<"o", [0, 1]>, #launch.scalar<"key", i64>, #launch.scalar<"stream", i64>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0) generator(1)
  gpu.func @columns(%o: memref<?x16xi32, strided<[?, 1]>>, %key: i64, %stream: i64) kernel {
    %c0 = arith.constant 0 : index
    %c48 = arith.constant 48 : index
    %r = tile.random key(%key) stream(%stream) [%c48, %c0] dim 0 : !tile
    tile.store %r, %o[%c0, %c0] dims [0, 1] : !tile, memref<?x16xi32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

// One number per lane: eight lanes have one counter, which each of them
// computes.
// CHECK-LABEL: gpu.func @lanes
// CHECK-COUNT-14: arith.muli %{{.*}}, %{{.*}} : i64
// CHECK-NOT: arith.muli {{.*}}c3528531795_i64
// CHECK-NOT: nvvm.shfl
!tile = tensor<1x32xi32, #warp.lanes>
gpu.module @m {
  launch.abi @lanes target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 32, warps = 1, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?xi32>, ["S"], 4>])
    parameters([#launch.memref<"o", [0]>, #launch.scalar<"key", i64>, #launch.scalar<"stream", i64>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0) generator(1)
  gpu.func @lanes(%o: memref<?xi32, strided<[1]>>, %key: i64, %stream: i64) kernel {
    %c0 = arith.constant 0 : index
    %r = tile.random key(%key) stream(%stream) [%c0, %c0] dim 1 : !tile
    tile.store %r, %o[%c0] dims [-1, 0] : !tile, memref<?xi32, strided<[1]>>
    gpu.return
  }
}

// -----

!tile = tensor<1x64xi32, #warp.diagonals<rows = 32, warps = 1>>
gpu.module @m {
  launch.abi @diagonals target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 32, warps = 1, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?xi32>, ["S"], 4>])
    parameters([#launch.memref<"o", [0]>, #launch.scalar<"key", i64>, #launch.scalar<"stream", i64>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0) generator(1)
  gpu.func @diagonals(%o: memref<?xi32, strided<[1]>>, %key: i64, %stream: i64) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+2 {{failed to legalize operation 'tile.random' that was explicitly marked illegal}}
    // expected-error @+1 {{random numbers along dimension 1 need a layout that distributes adjacent elements evenly over lanes, found 'tensor<1x64xi32, #warp.diagonals<rows = 32, warps = 1>>'}}
    %r = tile.random key(%key) stream(%stream) [%c0, %c0] dim 1 : !tile
    tile.store %r, %o[%c0] dims [-1, 0] : !tile, memref<?xi32, strided<[1]>>
    gpu.return
  }
}
