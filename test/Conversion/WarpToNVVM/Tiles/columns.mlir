// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file --verify-diagnostics | FileCheck %s

// Columns come in blocks of 8, four registers per thread: the layout determines
// each register's element, and no data moves between threads.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[X0:.*]] = llvm.inline_asm {{.*}}ld.global.b32
// CHECK: %[[X1:.*]] = llvm.inline_asm {{.*}}ld.global.b32
// CHECK: %[[X2:.*]] = llvm.inline_asm {{.*}}ld.global.b32
// CHECK: %[[X3:.*]] = llvm.inline_asm {{.*}}ld.global.b32
// CHECK: %[[X4:.*]] = llvm.inline_asm {{.*}}ld.global.b32
// CHECK: %[[X5:.*]] = llvm.inline_asm {{.*}}ld.global.b32
// CHECK: %[[X6:.*]] = llvm.inline_asm {{.*}}ld.global.b32
// CHECK: %[[X7:.*]] = llvm.inline_asm {{.*}}ld.global.b32
// CHECK: llvm.inline_asm has_side_effects {{.*}}st.global.b32 {{.*}} %{{.*}}, %[[X4]], %
// CHECK: llvm.inline_asm has_side_effects {{.*}}st.global.b32 {{.*}} %{{.*}}, %[[X5]], %
// CHECK: llvm.inline_asm has_side_effects {{.*}}st.global.b32 {{.*}} %{{.*}}, %[[X6]], %
// CHECK: llvm.inline_asm has_side_effects {{.*}}st.global.b32 {{.*}} %{{.*}}, %[[X7]], %
// CHECK: llvm.inline_asm has_side_effects {{.*}}st.global.b32 {{.*}} %{{.*}}, %[[X0]], %
// CHECK: llvm.inline_asm has_side_effects {{.*}}st.global.b32 {{.*}} %{{.*}}, %[[X1]], %
// CHECK: llvm.inline_asm has_side_effects {{.*}}st.global.b32 {{.*}} %{{.*}}, %[[X2]], %
// CHECK: llvm.inline_asm has_side_effects {{.*}}st.global.b32 {{.*}} %{{.*}}, %[[X3]], %
#l = #warp.mma_sync<warps = 1>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"k", write, tensor<?x16xf32>, ["S", "D"], 4>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @f(%k: memref<?x16xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, 1] : memref<?x16xf32, strided<[?, 1]>> to tensor<16x16xf32, #l>
    %right = warp.extract_columns %x from 8 : tensor<16x16xf32, #l> to tensor<16x8xf32, #l>
    %left = warp.extract_columns %x from 0 : tensor<16x16xf32, #l> to tensor<16x8xf32, #l>
    %y = warp.concat_columns %right, %left : tensor<16x8xf32, #l>, tensor<16x8xf32, #l> to tensor<16x16xf32, #l>
    tile.store %y, %k[%c0, %c0] dims [0, 1] : tensor<16x16xf32, #l>, memref<?x16xf32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

#l = #warp.mma_sync<warps = 1>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"k", write, tensor<?x8xf32>, ["S", "D"], 4>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @f(%k: memref<?x8xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, 1] : memref<?x8xf32, strided<[?, 1]>> to tensor<16x16xf32, #l>
    // expected-error@+2 {{failed to legalize operation 'warp.extract_columns'}}
    // expected-error@+1 {{columns from 4 on must belong to the same threads as columns from 0 on in layout #warp.mma_sync<warps = 1>}}
    %y = warp.extract_columns %x from 4 : tensor<16x16xf32, #l> to tensor<16x8xf32, #l>
    tile.store %y, %k[%c0, %c0] dims [0, 1] : tensor<16x8xf32, #l>, memref<?x8xf32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

#l = #warp.mma_sync<warps = 1>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x8xf32>, ["S", "D"], 4>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @f(%k: memref<?x8xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, -1] : memref<?x8xf32, strided<[?, 1]>> to tensor<16x1xf32, #l>
    // expected-error@+2 {{failed to legalize operation 'warp.concat_columns'}}
    // expected-error@+1 {{columns of part 'tensor<16x1xf32, #warp.mma_sync<warps = 1>>' must belong to the same threads as the columns from 0 on of 'tensor<16x8xf32, #warp.mma_sync<warps = 1>>'}}
    %y = warp.concat_columns %x, %x, %x, %x, %x, %x, %x, %x : tensor<16x1xf32, #l>, tensor<16x1xf32, #l>, tensor<16x1xf32, #l>, tensor<16x1xf32, #l>, tensor<16x1xf32, #l>, tensor<16x1xf32, #l>, tensor<16x1xf32, #l>, tensor<16x1xf32, #l> to tensor<16x8xf32, #l>
    gpu.return
  }
}
