// A conversion changes the thread that holds an element, but not the element.
// RUN: fovea-run %s --outputs %t.npy
// RUN: %python %S/../Inputs/npy.py print %t.npy | sed -n 2p | FileCheck %s
// CHECK: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16{{$}}

!sums = tensor<64x16xf8E4M3FN, #warp.wgmma<groups = 1>>
!operand = tensor<64x16xf8E4M3FN, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>
gpu.module @m {
  gpu.func @f(%c: memref<64x16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %row = tile.ramp %one step %one dim 1 : tensor<1x16xf32, #warp.wgmma<groups = 1>>
    %all = tile.broadcast %row : tensor<1x16xf32, #warp.wgmma<groups = 1>> to tensor<64x16xf32, #warp.wgmma<groups = 1>>
    %x = arith.truncf %all : tensor<64x16xf32, #warp.wgmma<groups = 1>> to !sums
    %y = warp.convert_layout %x : !sums to !operand
    %z = arith.extf %y : !operand to tensor<64x16xf32, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>
    tile.store %z, %c[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>, memref<64x16xf32>
    gpu.return
  }
  launch.abi @f target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 16, warps = 4, stages = 1>)
    tensors([#launch.tensor<"c", write, tensor<64x16xf32>, ["B", "C"], 4>])
    parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
}
