// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' --split-input-file | FileCheck %s

// Folded rows keep two coordinates; the limit applies to the first one.
// CHECK-LABEL: gpu.func @folded
// CHECK: warp.copy %arg0[{{.*}}] dims [0, 2] fold [1, 4] to %[[V:.*]] :
// CHECK: %[[LEFT:.*]] = arith.subi %arg1, %{{.*}} : index
// CHECK: %[[C4:.*]] = arith.constant 4 : index
// CHECK: %[[FROM:.*]] = arith.muli %[[LEFT]], %[[C4]] : index
// CHECK: warp.zero_rows %[[V]] from %[[FROM]]
!memory = memref<?x4x32xbf16, strided<[?, ?, 1]>>
gpu.module @m {
  launch.abi @folded target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x4x32xbf16>, ["H", "S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1, 2]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @folded(%v: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %p = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %b = tile.load %v[%c0, %c0, %c0] limit(%n) dims [0, 2] fold [1, 4] : !memory to tensor<32x32xbf16, #tile.reg>
    %d = tile.dot %p, %b, %zero : tensor<64x32xbf16, #tile.reg>, tensor<32x32xbf16, #tile.reg>, tensor<64x32xf32, #tile.reg>
    gpu.return
  }
}
