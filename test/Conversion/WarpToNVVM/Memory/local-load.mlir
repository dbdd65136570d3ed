// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// Two blocks of 16x16 for each warp: 16 elements per thread.
// CHECK-LABEL: gpu.func @f
// CHECK-COUNT-2: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>, num = 4
// CHECK-NOT: nvvm.ldmatrix
// CHECK: %[[WORDS:.*]] = vector.from_elements {{.*}} : vector<8xi32>
// CHECK: llvm.bitcast %[[WORDS]] : vector<8xi32> to vector<16xbf16>
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(0) : memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    %q = warp.local_load %b : memref<64x32xbf16, #warp.shared<row_bytes = 64>> to tensor<64x32xbf16, #warp.mma_sync<warps = 4>>
    tile.store %q, %k[%c0, %c0] dims [0, 1] : tensor<64x32xbf16, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// The fifth block is in the second panel, after the 64 rows of 128 bytes of the
// first one.
// CHECK-LABEL: gpu.func @ragged
// CHECK-COUNT-4: nvvm.ldmatrix
// CHECK: %[[PANEL:.*]] = llvm.getelementptr %{{.*}}[8192]
// CHECK: nvvm.ldmatrix %[[PANEL]]
// CHECK-NOT: nvvm.ldmatrix
// CHECK: gpu.return
!memory = memref<?x80xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @ragged target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x80xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @ragged(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(0) : memref<64x80xbf16, #warp.shared<row_bytes = 128>>
    %q = warp.local_load %b : memref<64x80xbf16, #warp.shared<row_bytes = 128>> to tensor<64x80xbf16, #warp.mma_sync<warps = 4>>
    tile.store %q, %k[%c0, %c0] dims [0, 1] : tensor<64x80xbf16, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// Warp indices run through the cluster, each CTA of which holds its 64 rows:
// panels are 64 rows apart, and the fifth warp's rows are the first ones of its
// CTA.
// CHECK-LABEL: gpu.func @parted
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 64 : i32
// CHECK: %[[ROW:.*]] = arith.remui %{{.*}}, %[[ROWS]] : i32
// CHECK: llvm.getelementptr %{{.*}}[8192]
// CHECK: gpu.return
!memory = memref<?x80xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @parted target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 128, tile_n = 32, warps = 8>)
    tensors([#launch.tensor<"k", read, tensor<?x80xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @parted(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(0) : memref<128x80xbf16, #warp.shared<row_bytes = 128, ctas = 2>>
    %q = warp.local_load %b : memref<128x80xbf16, #warp.shared<row_bytes = 128, ctas = 2>> to tensor<128x80xbf16, #warp.mma_sync<warps = 8>>
    tile.store %q, %k[%c0, %c0] dims [0, 1] : tensor<128x80xbf16, #warp.mma_sync<warps = 8>>, !memory
    gpu.return
  }
}
