// Row sums by a dot that a program does not allow: an error if they are user-specified,
// otherwise a remark, and the plan is changed.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax)))'
// RUN: sed -e 's/asked = .*]>/asked = []>/' %s | fovea-opt --split-input-file --remarks-filter=schedule --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax)))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sed -e 's/asked = .*]>/asked = []>/' %s | fovea-opt --split-input-file --remarks-filter=schedule --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax)))' 2>/dev/null | FileCheck %s

// REMARK: remark: [Missed] sum_by_dot | Category:schedule | Function=three_pass | Reason="'three_pass' sums the probabilities before they are rounded"
// CHECK: launch.abi @three_pass
// CHECK-NOT: sum_by_dot{{[,>]}}
// CHECK: gpu.func @three_pass
gpu.module @kernels {
  launch.abi @three_pass target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, warps = 1, stages = 1, recurrence = three_pass, tau = 4, sum_by_dot, asked = ["sum_by_dot"]>)
    tensors([#launch.tensor<"s", read, tensor<16x?xf32>, ["M", "N"], 4>, #launch.tensor<"o", write, tensor<16x32xf32>, ["M", "D"], 4>])
    parameters([#launch.memref<"s", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @three_pass(%S: memref<16x?xf32>, %O: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ub = memref.dim %S, %c1 : memref<16x?xf32>
    // expected-error@+1 {{schedule's 'sum_by_dot' is user-specified but cannot be applied: 'three_pass' sums the probabilities before they are rounded}}
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(0.1)
      scores(%j: index, %partial: i1) {
        %s = tile.load %S[%c0, %j] dims [0, 1] : memref<16x?xf32> to tensor<16x64xf32, #tile.reg>
        tile.yield %s : tensor<16x64xf32, #tile.reg>
      }
      values(%j: index) {
        %v = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}

// -----

// REMARK: remark: [Missed] sum_by_dot | Category:schedule | Function=weights | Reason="the 'weights' region modifies the probabilities of the product"
// CHECK: launch.abi @weights
// CHECK-NOT: sum_by_dot{{[,>]}}
// CHECK: gpu.func @weights
gpu.module @kernels {
  launch.abi @weights target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, warps = 1, stages = 1, recurrence = lazy, tau = 4, sum_by_dot, asked = ["sum_by_dot"]>)
    tensors([#launch.tensor<"s", read, tensor<16x?xf32>, ["M", "N"], 4>, #launch.tensor<"o", write, tensor<16x32xf32>, ["M", "D"], 4>])
    parameters([#launch.memref<"s", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @weights(%S: memref<16x?xf32>, %O: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ub = memref.dim %S, %c1 : memref<16x?xf32>
    // expected-error@+1 {{schedule's 'sum_by_dot' is user-specified but cannot be applied: the 'weights' region modifies the probabilities of the product}}
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(0.1)
      scores(%j: index, %partial: i1) {
        %s = tile.load %S[%c0, %j] dims [0, 1] : memref<16x?xf32> to tensor<16x64xf32, #tile.reg>
        tile.yield %s : tensor<16x64xf32, #tile.reg>
      }
      weights(%j: index, %p: tensor<16x64xf32, #tile.reg>) {
        %half = arith.constant dense<0.5> : tensor<16x64xf32, #tile.reg>
        %x = arith.mulf %p, %half : tensor<16x64xf32, #tile.reg>
        tile.yield %x : tensor<16x64xf32, #tile.reg>
      }
      values(%j: index) {
        %v = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}

// -----

// REMARK: remark: [Missed] sum_by_dot | Category:schedule | Function=blocks | Reason="blocks must be a multiple of 8 keys, found 12"
// CHECK: launch.abi @blocks
// CHECK-NOT: sum_by_dot{{[,>]}}
// CHECK: gpu.func @blocks
gpu.module @kernels {
  launch.abi @blocks target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 12, warps = 1, stages = 1, recurrence = lazy, tau = 4, sum_by_dot,
         asked = ["sum_by_dot"]>)
    tensors([#launch.tensor<"s", read, tensor<16x?xf32>, ["M", "N"], 4>, #launch.tensor<"o", write, tensor<16x32xf32>, ["M", "D"], 4>])
    parameters([#launch.memref<"s", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @blocks(%S: memref<16x?xf32>, %O: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ub = memref.dim %S, %c1 : memref<16x?xf32>
    // expected-error@+1 {{schedule's 'sum_by_dot' is user-specified but cannot be applied: blocks must be a multiple of 8 keys, found 12}}
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 12 full(%c0, %ub) scale(0.1)
      scores(%j: index, %partial: i1) {
        %s = tile.load %S[%c0, %j] dims [0, 1] : memref<16x?xf32> to tensor<16x12xf32, #tile.reg>
        tile.yield %s : tensor<16x12xf32, #tile.reg>
      }
      values(%j: index) {
        %v = arith.constant dense<1.0> : tensor<12x32xbf16, #tile.reg>
        tile.yield %v : tensor<12x32xbf16, #tile.reg>
      } : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}
