// Names of loads, dots and stores have the same syntax for all ops.
// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --mlir-print-op-generic | fovea-opt | FileCheck %s

!k = memref<?x64xbf16, strided<[?, 1]>>
!t = tensor<64x64xbf16, #tile.reg>
!s = tensor<64x64xf32, #tile.reg>
!f = memref<?x64xf32, strided<[?, 1]>>
gpu.module @m {
  // CHECK-LABEL: launch.abi @f {{.*}} roles = [<"load", warps = 4, registers = 24, owns = ["a", "b.1"]>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
  launch.abi @f target("sm_90a")
    plan(<#warp.mma_sync_unit, min_blocks = 2,
         roles = [<"load", warps = 4, registers = 24, owns = ["a", "b.1"]>,
           <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", write, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"f", accumulate, tensor<?x64xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"f", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !k, %f: !f) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : !s
    // CHECK: tile.load "a" %{{.*}}[
    %a = tile.load "a" %k[%c0, %c0] dims [0, 1] : !k to !t
    // CHECK: tile.load "b.1" %{{.*}}[
    %b = tile.load "b.1" %k[%c0, %c0] dims [0, 1] : !k to !t
    // CHECK: tile.dot "c_2" %
    %c = tile.dot "c_2" %a, %b, %zero : !t, !t, !s
    // CHECK: tile.dot %
    %d = tile.dot %a, %b, %c : !t, !t, !s
    %n = arith.truncf %d : !s to !t
    // CHECK: %[[STREAM:.*]] = tile.stream "c.1" %{{.*}} : tensor
    %s = tile.stream "c.1" %a : !t
    // CHECK: %[[E:.*]] = tile.dot "e" %[[STREAM]], %{{.*}}, %{{.*}} transpose_a
    %e = tile.dot "e" %s, %b, %zero transpose_a : !t, !t, !s
    // CHECK: tile.store add "sum" %[[E]]
    tile.store add "sum" %e, %f[%c0, %c0] dims [0, 1] : !s, !f
    // CHECK: tile.store "out" %
    tile.store "out" %n, %k[%c0, %c0] dims [0, 1] : !t, !k
    gpu.return
  }
}
