// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' | FileCheck %s

// The plan keeps queries in registers: they are loaded once, at the position of the load.

// CHECK-LABEL: gpu.func @f
// CHECK: warp.copy {{("[^"]+" )?}}%{{.*}} to %[[Q:.*]] : {{.*}} to memref<64x64xbf16
// CHECK-NEXT: %[[FRAGMENT:.*]] = warp.local_load %[[Q]] : {{.*}} to tensor<64x64xbf16, #tile.reg>
// CHECK-NOT: warp.local_load
// CHECK: warp.dot {{("[^"]+" )?}}%[[FRAGMENT]], %{{.*}} transpose_b : tensor<64x64xbf16, #tile.reg>
// CHECK: warp.dot {{("[^"]+" )?}}%[[FRAGMENT]], %{{.*}} transpose_b
!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, dots = [<"s", a_in_registers>]>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %n = memref.dim %k, %c0 : !memory
    %s0 = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    %o0 = arith.constant dense<0.0> : tensor<64x64xf32, #tile.reg>
    %q = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x64xbf16, #tile.reg>
    %kt = tile.load %k[%n, %c0] limit(%n) dims [0, 1] : !memory to tensor<32x64xbf16, #tile.reg>
    %s = tile.dot "s" %q, %kt, %s0 transpose_b : tensor<64x64xbf16, #tile.reg>, tensor<32x64xbf16, #tile.reg>, tensor<64x32xf32, #tile.reg>
    %t = tile.dot "s" %q, %kt, %s transpose_b : tensor<64x64xbf16, #tile.reg>, tensor<32x64xbf16, #tile.reg>, tensor<64x32xf32, #tile.reg>
    %p = arith.truncf %t : tensor<64x32xf32, #tile.reg> to tensor<64x32xbf16, #tile.reg>
    %o = tile.dot %p, %kt, %o0 : tensor<64x32xbf16, #tile.reg>, tensor<32x64xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
    gpu.return
  }
}
