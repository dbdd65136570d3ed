// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-assign-layouts)))' --split-input-file | FileCheck %s

// A computed 16-bit operand has the layout of the previous accumulator; a 32-bit operand needs
// another layout.
// CHECK-LABEL: gpu.func @f
!buffer = memref<32x64xbf16, #warp.shared<row_bytes = 128>>
!words = memref<32x64xf32, #warp.shared<row_bytes = 128>>
!scores = tensor<64x32xf32, #tile.reg>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, warps = 4,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f() kernel {
    %k = warp.alloc : !buffer
    %v = warp.alloc : !words
    %zero = arith.constant dense<0.0> : !acc
    %s = arith.constant dense<1.0> : !scores
    // CHECK: %[[WIDE:.*]] = arith.truncf {{.*}} to tensor<64x32xbf16, #warp.wgmma<groups = 1>>
    %w = arith.truncf %s : !scores to tensor<64x32xbf16, #tile.reg>
    // CHECK-NEXT: warp.dot %[[WIDE]],
    %o = warp.dot %w, %k, %zero : tensor<64x32xbf16, #tile.reg>, !buffer, !acc
    // CHECK-NEXT: %[[OPERAND:.*]] = warp.convert_layout %{{.*}} : {{.*}} to tensor<64x32xf32, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 32>>
    // CHECK-NEXT: warp.dot %[[OPERAND]],
    %r = warp.dot %s, %v, %zero : !scores, !words, !acc
    gpu.return
  }
}
