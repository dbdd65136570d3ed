// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' | FileCheck %s

// A dot reads the source of a transposition in the other order. A stream of a transposed load is
// filled through registers.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[V:.*]] = warp.alloc : memref<64x128xf8E4M3FN, #warp.shared<row_bytes = 128>>
// CHECK: %[[VT:.*]] = warp.alloc : memref<128x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
// CHECK: warp.copy "v" {{.*}} to memref<64x128xf8E4M3FN
// CHECK: %[[T:.*]] = warp.local_load transpose %[[V]] : memref<64x128xf8E4M3FN, {{.*}} to tensor<128x64xf8E4M3FN, #tile.reg>
// CHECK-NEXT: warp.local_store "vt" %[[T]] to %[[VT]]
// CHECK-NEXT: warp.fence_stores %[[VT]]
// CHECK-NOT: tile.transpose
// CHECK: warp.dot "o" %{{.*}}, %[[VT]], %{{.*}} transpose_b : tensor<64x64xf8E4M3FN, #tile.reg>, memref<128x64xf8E4M3FN
// CHECK-NOT: tile.transpose

// Two transpositions cancel.
// CHECK: warp.dot "c" %[[V]], %[[V]], %{{.*}} transpose_b : memref<64x128xf8E4M3FN
!memory = memref<?x128xf8E4M3FN, strided<[?, 1]>>
!v = tensor<64x128xf8E4M3FN, #tile.reg>
!vt = tensor<128x64xf8E4M3FN, #tile.reg>
!p = tensor<64x64xf8E4M3FN, #tile.reg>
!s = tensor<64x64xf32, #tile.reg>
!o = tensor<64x128xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"transpose", warps = 4, registers = 72, owns = ["vt"]>,
                <"compute", warps = 4, registers = 208, owns = ["*"]>]>)
    tensors([#launch.tensor<"v", read, tensor<?x128xf8E4M3FN>, ["S", "D"], 16>,
             #launch.tensor<"o", write, tensor<?x128xf32>, ["S", "D"], 16>, #launch.tensor<"c", write, tensor<?x128xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"v", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%V: !memory, %O: memref<?x128xf32, strided<[?, 1]>>, %C: memref<?x128xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %p = arith.constant dense<0.5> : !p
    %zero = arith.constant dense<0.0> : !o
    %zeros = arith.constant dense<0.0> : !s
    %v = tile.load "v" %V[%c0, %c0] dims [0, 1] : !memory to !v
    %t = tile.transpose %v : !v to !vt
    %vt = tile.stream "vt" %t : !vt
    %back = tile.transpose %vt : !vt to !v
    %o = tile.dot "o" %p, %back, %zero : !p, !v, !o
    tile.store "o" %o, %O[%c0, %c0] dims [0, 1] : !o, memref<?x128xf32, strided<[?, 1]>>
    %twice = tile.transpose %t : !vt to !v
    %c = tile.dot "c" %v, %twice, %zeros transpose_b : !v, !v, !s
    tile.store "c" %c, %C[%c0, %c0] dims [0, 1] : !s, memref<?x128xf32, strided<[?, 1]>>
    gpu.return
  }
}
