// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' | FileCheck %s

// The CTAs of a cluster split the rows of products: each CTA keeps its rows of the
// first operand and all rows of the second operand.
// CHECK-LABEL: gpu.func @f(
// CHECK-DAG: warp.alloc : memref<256x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>
// CHECK-DAG: warp.alloc : memref<32x64xbf16, #warp.shared<row_bytes = 128>>
// CHECK-NOT: warp.alloc
!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, tile_n = 32, warps = 8, cluster = 2,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (2)>) threads(256) shared_memory(0) cluster(2)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %s0 = arith.constant dense<0.0> : tensor<256x32xf32, #tile.reg>
    %q = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<256x64xbf16, #tile.reg>
    %kt = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<32x64xbf16, #tile.reg>
    %s = tile.dot %q, %kt, %s0 transpose_b : tensor<256x64xbf16, #tile.reg>, tensor<32x64xbf16, #tile.reg>, tensor<256x32xf32, #tile.reg>
    gpu.return
  }
}
