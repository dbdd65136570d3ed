// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// A memref becomes pointer, sizes and strides. Sizes with the same name share
// one argument; static and unused ones have none. The ABI lists the remaining
// arguments.

gpu.module @m {
  // CHECK: launch.abi @f
  // CHECK-SAME: parameters([#launch.pointer<"k">, #launch.size<"S">, #launch.stride<"k", 0{{[^>]*}}>, #launch.pointer<"o">, #launch.stride<"o", 1{{[^>]*}}>, #launch.scalar<"scale", f32>])
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1, min_blocks = 2>)
    tensors([#launch.tensor<"k", read, tensor<?x8xf32>, ["S", "D"], 4>, #launch.tensor<"o", write, tensor<8x?xf32>, ["D", "S"], 4>,
             #launch.tensor<"unused", read, tensor<?xf32>, ["N"], 4>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [1, 0]>, #launch.memref<"unused", [0]>, #launch.scalar<"scale", f32>, #launch.scalar<"extra", f32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // CHECK-LABEL: gpu.func @f(
  // CHECK-SAME: %{{.*}}: !llvm.ptr<1>, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i32, %[[SCALE:.*]]: f32) kernel
  // CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, nvvm.minctasm = 2
  gpu.func @f(%k: memref<?x8xf32, strided<[?, 1]>>, %o: memref<?x8xf32, strided<[?, 1]>>, %unused: memref<?xf32, strided<[?]>>, %scale: f32, %extra: f32) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, 1] : memref<?x8xf32, strided<[?, 1]>> to tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    %s = tile.broadcast %scale : f32 to tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    %y = arith.mulf %x, %s : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    tile.store %y, %o[%c0, %c0] dims [0, 1] : tensor<64x8xf32, #warp.mma_sync<warps = 4>>, memref<?x8xf32, strided<[?, 1]>>
    gpu.return
  }
}
