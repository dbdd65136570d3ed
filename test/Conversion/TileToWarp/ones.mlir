// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' | FileCheck %s

// A dot with ones becomes additional columns of the dot with the same first operand,
// with a block of ones in place of the next panel.
// CHECK-LABEL: gpu.func @f
// CHECK-DAG: %[[P:.*]] = arith.constant dense<5.000000e-01>
// CHECK-DAG: %[[O:.*]] = arith.constant dense<3.000000e+00>
// CHECK-DAG: %[[L:.*]] = arith.constant dense<2.000000e+00>
// CHECK-DAG: %[[V:.*]] = warp.alloc : memref<32x64xbf16, #warp.shared<row_bytes = 128>>
// CHECK-DAG: %[[ONES:.*]] = warp.ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>
// CHECK: %[[OL:.*]] = warp.concat_columns %[[O]], %[[L]]
// CHECK: %[[D:.*]] = warp.dot %[[P]], %[[V]], %[[OL]] ones(%[[ONES]] : {{.*}}) : {{.*}}, tensor<64x72xf32, #tile.reg>
// CHECK: %[[O1:.*]] = warp.extract_columns %[[D]] from 0
// CHECK: %[[L1:.*]] = warp.extract_columns %[[D]] from 64
// CHECK-NOT: warp.dot
// CHECK: tile.store %[[O1]]
// CHECK: tile.store %[[L1]]
!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32,
       roles = [<"load", warps = 4, registers = 56, owns = copies>, <"compute", warps = 4, registers = 248, owns = ["*"]>]>)
    tensors([#launch.tensor<"v", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x64xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"v", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%v: !memory, %to: memref<?x64xf32, strided<[?, 1]>>) kernel {
    %p = arith.constant dense<0.5> : tensor<64x32xbf16, #tile.reg>
    %o = arith.constant dense<3.0> : tensor<64x64xf32, #tile.reg>
    %l = arith.constant dense<2.0> : tensor<64x8xf32, #tile.reg>
    %c0 = arith.constant 0 : index
    %ones = arith.constant dense<1.0> : tensor<32x8xbf16, #tile.reg>
    %b = tile.load %v[%c0, %c0] dims [0, 1] : !memory to tensor<32x64xbf16, #tile.reg>
    %o1 = tile.dot %p, %b, %o : tensor<64x32xbf16, #tile.reg>, tensor<32x64xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
    %l1 = tile.dot %p, %ones, %l : tensor<64x32xbf16, #tile.reg>, tensor<32x8xbf16, #tile.reg>, tensor<64x8xf32, #tile.reg>
    tile.store %o1, %to[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #tile.reg>, memref<?x64xf32, strided<[?, 1]>>
    tile.store %l1, %to[%c0, %c0] dims [0, 1] : tensor<64x8xf32, #tile.reg>, memref<?x64xf32, strided<[?, 1]>>
    gpu.return
  }
}
