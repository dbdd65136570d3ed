// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// Scratch memory becomes an address; its extents and strides are computed from
// sizes that it shares with tensors.

// CHECK: #[[BYTES:.*]] = affine_map<()[s0, s1] -> ((s0 * (s1 ceildiv 128)) * 8)>
gpu.module @m {
  // CHECK: launch.abi @f
  // CHECK-SAME: parameters([#launch.pointer<"x">, #launch.size<"S">, #launch.stride<"x", 0>, #launch.scratch<"least", ["B", "S"] #[[BYTES]]>, #launch.size<"B">])
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1, min_blocks = 2>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>, #launch.tensor<"y", read, tensor<?xi32>, ["B"], 4>])
    parameters([#launch.memref<"x", [0]>, #launch.scratch_memref<"least", ["B", "S"] affine_map<()[b, s] -> (2, b, s ceildiv 128)>>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  // CHECK-LABEL: gpu.func @f(
  // CHECK-SAME: %{{.*}}: !llvm.ptr<1>, %[[S:.*]]: i32, %{{.*}}: i64, %[[LEAST:.*]]: !llvm.ptr<1>, %[[B:.*]]: i32) kernel
  // CHECK-DAG: %[[BATCH:.*]] = arith.extui %[[B]] : i32 to i64
  // CHECK-DAG: %[[LENGTH:.*]] = arith.extui %[[S]] : i32 to i64
  // CHECK-DAG: %[[BLOCKS:.*]] = arith.ceildivui %[[LENGTH]], %c128_i64 : i64
  // CHECK: arith.muli %[[BLOCKS]], %[[BATCH]] : i64
  // CHECK: llvm.inline_asm has_side_effects {{.*}}st.global.b32
  gpu.func @f(%x: memref<?xi32, strided<[?]>>, %least: memref<2x?x?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %b = gpu.block_id x
    %t = tile.load %x[%c0] dims [0, -1] : memref<?xi32, strided<[?]>> to tensor<16x1xi32, #warp.mma_sync<warps = 1>>
    tile.store %t, %least[%c1, %b, %c0] dims [2, -1] : tensor<16x1xi32, #warp.mma_sync<warps = 1>>, memref<2x?x?xi32>
    gpu.return
  }
}
