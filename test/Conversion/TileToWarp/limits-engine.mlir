// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' --split-input-file | FileCheck %s

// TMA does not support limits: rows past the limit are zeroed in the buffer, in
// blocks that have such rows.
// CHECK-LABEL: gpu.func @engine
// CHECK: %[[V:.*]] = warp.alloc
// CHECK: warp.copy %arg0[%[[AT:.*]], %{{.*}}] dims [0, 1] to %[[V]]
// CHECK: %[[FROM:.*]] = arith.subi %arg1, %[[AT]] : index
// CHECK: %[[ROWS:.*]] = arith.constant 32 : index
// CHECK: %[[RAGGED:.*]] = arith.cmpi slt, %[[FROM]], %[[ROWS]] : index
// CHECK: scf.if %[[RAGGED]] {
// CHECK-NEXT: warp.zero_rows %[[V]] from %[[FROM]]
// CHECK-NEXT: }
// CHECK: warp.dot %{{.*}}, %[[V]]
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @engine target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @engine(%v: !memory, %n: index) kernel {
    %c7 = arith.constant 7 : index
    %c0 = arith.constant 0 : index
    %p = arith.constant dense<1.0> : tensor<64x32xbf16, #tile.reg>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %b = tile.load %v[%c7, %c0] limit(%n) dims [0, 1] : !memory to tensor<32x32xbf16, #tile.reg>
    %d = tile.dot %p, %b, %zero : tensor<64x32xbf16, #tile.reg>, tensor<32x32xbf16, #tile.reg>, tensor<64x32xf32, #tile.reg>
    gpu.return
  }
}
