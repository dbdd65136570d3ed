// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// Shuffles exchange 32-bit words; elements of other widths are converted to
// these.

#l = #warp.mma_sync<warps = 1>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1, min_blocks = 2>)
    tensors([#launch.tensor<"x", read, tensor<16x8xi64>, ["A", "B"], 8>, #launch.tensor<"y", read, tensor<16x8xi8>, ["A", "B"], 1>,
             #launch.tensor<"o", write, tensor<16xi64>, ["A"], 8>, #launch.tensor<"p", write, tensor<16xi8>, ["A"], 1>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>, #launch.memref<"o", [0]>, #launch.memref<"p", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  // CHECK-LABEL: gpu.func @f
  // CHECK: arith.minsi %{{.*}}, %{{.*}} : i64
  // CHECK: %[[PAIR:.*]] = llvm.bitcast %{{.*}} : i64 to vector<2xi32>
  // CHECK: %[[WORDS:.*]]:2 = vector.to_elements %[[PAIR]]
  // CHECK: %[[LOW:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[WORDS]]#0, %c1_i32
  // CHECK: %[[HIGH:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[WORDS]]#1, %c1_i32
  // CHECK: %[[OTHER:.*]] = vector.from_elements %[[LOW]], %[[HIGH]]
  // CHECK: %[[JOINED:.*]] = llvm.bitcast %[[OTHER]] : vector<2xi32> to i64
  // CHECK: arith.minsi %{{.*}}, %[[JOINED]] : i64
  // CHECK: arith.maxsi %{{.*}}, %{{.*}} : i8
  // CHECK: %[[WIDE:.*]] = llvm.zext %{{.*}} : i8 to i32
  // CHECK: %[[SHUFFLED:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[WIDE]], %c1_i32
  // CHECK: %[[NARROW:.*]] = llvm.trunc %[[SHUFFLED]] : i32 to i8
  // CHECK: arith.maxsi %{{.*}}, %[[NARROW]] : i8
  gpu.func @f(%x: memref<16x8xi64>, %y: memref<16x8xi8>, %o: memref<16xi64>, %p: memref<16xi8>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0, %c0] dims [0, 1] : memref<16x8xi64> to tensor<16x8xi64, #l>
    %b = tile.load %y[%c0, %c0] dims [0, 1] : memref<16x8xi8> to tensor<16x8xi8, #l>
    %min = tile.reduce min dim 1 %a : tensor<16x8xi64, #l> to tensor<16x1xi64, #l>
    %max = tile.reduce max dim 1 %b : tensor<16x8xi8, #l> to tensor<16x1xi8, #l>
    tile.store %min, %o[%c0] dims [0, -1] : tensor<16x1xi64, #l>, memref<16xi64>
    tile.store %max, %p[%c0] dims [0, -1] : tensor<16x1xi8, #l>, memref<16xi8>
    gpu.return
  }
}

// Along rows, which are in one warp: the eight lanes that share a column.
gpu.module @rows {
  launch.abi @g target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 8, warps = 1, stages = 1, min_blocks = 2>)
    tensors([#launch.tensor<"x", read, tensor<32x8xi32>, ["A", "B"], 4>, #launch.tensor<"o", write, tensor<8xi32>, ["B"], 4>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  // CHECK-LABEL: gpu.func @g
  // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c4_i32
  // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c8_i32
  // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c16_i32
  // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c4_i32
  gpu.func @g(%x: memref<32x8xi32>, %o: memref<8xi32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0, %c0] dims [0, 1] : memref<32x8xi32> to tensor<32x8xi32, #l>
    %sum = tile.reduce add dim 0 %a : tensor<32x8xi32, #l> to tensor<1x8xi32, #l>
    tile.store %sum, %o[%c0] dims [-1, 0] : tensor<1x8xi32, #l>, memref<8xi32>
    gpu.return
  }
}
