// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' | FileCheck %s

// bf16 is the upper half of f32: of the two in a word one is shifted, the other
// one masked. Scalar halves stay halves.
// CHECK-LABEL: gpu.func @pairs
// CHECK: %[[WORDS:.*]] = llvm.bitcast %{{.*}} : vector<16xbf16> to vector<8xi32>
// CHECK: %[[WORD:.*]]:8 = vector.to_elements %[[WORDS]]
// CHECK: llvm.shl %[[WORD]]#0, %{{.*}} : i32
// CHECK: llvm.and %[[WORD]]#0, %{{.*}} : i32
// CHECK-NOT: arith.extf
!wide = memref<?x32xf32, strided<[32, 1]>>
!tile = tensor<64x32xbf16, #warp.wgmma<groups = 1>>
gpu.module @m {
  launch.abi @pairs target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, warps = 4>)
    tensors([#launch.tensor<"c", write, tensor<?x32xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"c", [0, 1]>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @pairs(%c: !wide) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %c[%c0, %c0] dims [0, 1] : !wide to tensor<64x32xf32, #warp.wgmma<groups = 1>>
    %p = arith.truncf %x : tensor<64x32xf32, #warp.wgmma<groups = 1>> to !tile
    %w = arith.extf %p : !tile to tensor<64x32xf32, #warp.wgmma<groups = 1>>
    tile.store %w, %c[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #warp.wgmma<groups = 1>>, !wide
    gpu.return
  }
}
