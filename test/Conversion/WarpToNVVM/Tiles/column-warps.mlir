// Dots whose columns are distributed over warps: two parts of the rows, of four
// warps each, which take 16 columns round-robin.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// A warp has 32 rows, and of 128 columns two blocks of 16 at a distance of 64:
// one panel of 128 bytes and the next. So it reads its part of the other
// operand from one address of its own.
// CHECK-LABEL: gpu.func @columns
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : i32
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : i32
// CHECK: %[[ID:.*]] = gpu.thread_id x
// CHECK: %[[T:.*]] = arith.index_cast %[[ID]]
// CHECK: %[[WARP:.*]] = arith.divui %[[T]], %[[C32]]
// CHECK: %[[PART:.*]] = arith.remui %[[WARP]], %[[C2]]
// CHECK: arith.muli %[[PART]], %[[C32]]
// CHECK: arith.divui %[[WARP]], %[[C2]]
// CHECK-COUNT-2: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>, num = 4
// CHECK-COUNT-2: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>, num = 4
// CHECK-NOT: nvvm.ldmatrix
!memory = memref<?x128xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @columns target("sm_80") plan(<#warp.mma_sync_unit, warps = 8, column_warps = 4>)
    tensors([#launch.tensor<"c", write, tensor<?x128xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @columns(%c: !memory) kernel {
    %c0 = arith.constant 0 : index
    %a = warp.alloc offset(0) : memref<64x16xbf16, #warp.shared<row_bytes = 32>>
    %b = warp.alloc offset(2048) : memref<16x128xbf16, #warp.shared<row_bytes = 128>>
    %zero = arith.constant dense<0.0> : tensor<64x128xf32, #warp.mma_sync<warps = 2, column_warps = 4>>
    %d = warp.dot %a, %b, %zero : memref<64x16xbf16, #warp.shared<row_bytes = 32>>, memref<16x128xbf16, #warp.shared<row_bytes = 128>>, tensor<64x128xf32, #warp.mma_sync<warps = 2, column_warps = 4>>
    tile.store %d, %c[%c0, %c0] dims [0, 1] : tensor<64x128xf32, #warp.mma_sync<warps = 2, column_warps = 4>>, !memory
    gpu.return
  }
}

// -----

// Stored with the columns as rows, a warp has 16 of each 64 rows.
// CHECK-LABEL: gpu.func @rows
// CHECK: %[[TURN:.*]] = arith.divui %{{.*}}, %c2_i32
// CHECK: arith.muli %[[TURN]], %c16_i32
// CHECK-COUNT-3: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>, num = 4
// CHECK-NOT: nvvm.ldmatrix
!memory = memref<?x64xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @rows target("sm_80") plan(<#warp.mma_sync_unit, warps = 8, column_warps = 4>)
    tensors([#launch.tensor<"c", write, tensor<?x64xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @rows(%c: !memory) kernel {
    %c0 = arith.constant 0 : index
    %a = warp.alloc offset(0) : memref<64x16xbf16, #warp.shared<row_bytes = 32>>
    %b = warp.alloc offset(2048) : memref<64x16xbf16, #warp.shared<row_bytes = 32>>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #warp.mma_sync<warps = 2, column_warps = 4>>
    %d = warp.dot %a, %b, %zero transpose_b : memref<64x16xbf16, #warp.shared<row_bytes = 32>>, memref<64x16xbf16, #warp.shared<row_bytes = 32>>, tensor<64x64xf32, #warp.mma_sync<warps = 2, column_warps = 4>>
    tile.store %d, %c[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #warp.mma_sync<warps = 2, column_warps = 4>>, !memory
    gpu.return
  }
}
