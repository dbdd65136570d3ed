// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// Stored NxK: four 8x8 matrices are two column blocks of 8 keys and 16 elements
// of the reduction. 64x32 by 32x32: 2 k-steps, each with 2 blocks of 16
// columns; each block feeds two MMAs.
// CHECK-LABEL: gpu.func @f
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>, num = 4
// CHECK-COUNT-2: nvvm.mma.sync {{.*}}#nvvm.mma_type<bf16>{{.*}}m = 16, n = 8, k = 16
// CHECK: nvvm.ldmatrix
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK: nvvm.ldmatrix
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK: nvvm.ldmatrix
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: vector.from_elements {{.*}} : vector<16xf32>
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(0) : memref<32x32xbf16, #warp.shared<row_bytes = 64>>
    %a = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x32xbf16, #warp.mma_sync<warps = 4>>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    %d = warp.dot %a, %b, %zero transpose_b : tensor<64x32xbf16, #warp.mma_sync<warps = 4>>, memref<32x32xbf16, #warp.shared<row_bytes = 64>>, tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    %o = arith.truncf %d : tensor<64x32xf32, #warp.mma_sync<warps = 4>> to tensor<64x32xbf16, #warp.mma_sync<warps = 4>>
    tile.store %o, %k[%c0, %c0] dims [0, 1] : tensor<64x32xbf16, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// Stored KxN, ldmatrix transposes the matrices; f16 operands are pairs. A first
// operand in shared memory is loaded once per k-step.
// CHECK-LABEL: gpu.func @f
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>, num = 4
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>, num = 4
// CHECK: llvm.bitcast {{.*}} : i32 to vector<2xf16>
// CHECK-COUNT-2: nvvm.mma.sync {{.*}}f16
// CHECK-NOT: nvvm.mma.sync
!memory = memref<?x32xf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %a = warp.alloc offset(0) : memref<64x16xf16, #warp.shared<row_bytes = 32>>
    %b = warp.alloc offset(2048) : memref<16x16xf16, #warp.shared<row_bytes = 32>>
    %zero = arith.constant dense<0.0> : tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %d = warp.dot %a, %b, %zero : memref<64x16xf16, #warp.shared<row_bytes = 32>>, memref<16x16xf16, #warp.shared<row_bytes = 32>>, tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %o = arith.truncf %d : tensor<64x16xf32, #warp.mma_sync<warps = 4>> to tensor<64x16xf16, #warp.mma_sync<warps = 4>>
    tile.store %o, %k[%c0, %c0] dims [0, 1] : tensor<64x16xf16, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// Columns from 32 on of 64: the last two of each row's four blocks of 16.
// CHECK-LABEL: gpu.func @columns
// CHECK-COUNT-4: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>, num = 4
// CHECK-NOT: nvvm.ldmatrix
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @columns target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @columns(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(0) : memref<32x64xbf16, #warp.shared<row_bytes = 128>>
    %a = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x32xbf16, #warp.mma_sync<warps = 4>>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    %d = warp.dot %a, %b, %zero columns(32) : tensor<64x32xbf16, #warp.mma_sync<warps = 4>>, memref<32x64xbf16, #warp.shared<row_bytes = 128>>, tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    %o = arith.truncf %d : tensor<64x32xf32, #warp.mma_sync<warps = 4>> to tensor<64x32xbf16, #warp.mma_sync<warps = 4>>
    tile.store %o, %k[%c0, %c0] dims [0, 1] : tensor<64x32xbf16, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// A first operand with the reduction along its rows is transposed by ldmatrix,
// too: each warp's rows of the result are columns of it.
// CHECK-LABEL: gpu.func @transposed
// CHECK-COUNT-2: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>, num = 4
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-COUNT-2: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>, num = 4
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
!memory = memref<?x16xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @transposed target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"c", write, tensor<?x16xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @transposed(%c: !memory) kernel {
    %c0 = arith.constant 0 : index
    %a = warp.alloc offset(0) : memref<32x64xbf16, #warp.shared<row_bytes = 128>>
    %b = warp.alloc offset(4096) : memref<32x16xbf16, #warp.shared<row_bytes = 32>>
    %zero = arith.constant dense<0.0> : tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %d = warp.dot %a, %b, %zero transpose_a : memref<32x64xbf16, #warp.shared<row_bytes = 128>>, memref<32x16xbf16, #warp.shared<row_bytes = 32>>, tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    tile.store %d, %c[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}
