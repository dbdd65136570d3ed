// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// Both operands in memory, the second stored NxK: ldmatrix loads words. Each factor is split in
// two; two k-steps of three products, for two blocks of 8 columns, start from 0, and are then added
// to the accumulator.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0.000000e+00 : f32)
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>, num = 4
// CHECK: %[[X:.*]] = llvm.bitcast %{{.*}} : i32 to f32
// CHECK: %[[Y:.*]] = llvm.fmul %[[X]], %{{.*}} : f32
// CHECK: %[[B:.*]] = llvm.bitcast %[[Y]] : f32 to i32
// CHECK: %[[H:.*]] = llvm.and %[[B]]
// CHECK: %[[HIGH:.*]] = llvm.bitcast %[[H]] : i32 to f32
// CHECK: llvm.fsub %[[X]], %[[HIGH]]
// CHECK: nvvm.mma.sync A[{{.*}}] B[{{.*}}] C[%[[ZERO]], %[[ZERO]], %[[ZERO]], %[[ZERO]]] {{.*}}#nvvm.mma_type<tf32>{{.*}}m = 16, n = 8, k = 8
// CHECK-COUNT-11: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-8: llvm.fadd
// CHECK-NOT: llvm.fadd
!memory = memref<?x16xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 16>)
    tensors([#launch.tensor<"k", read, tensor<?x16xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %a = warp.alloc offset(0) : memref<64x16xf32, #warp.shared<row_bytes = 64>>
    %b = warp.alloc offset(4096) : memref<16x16xf32, #warp.shared<row_bytes = 64>>
    %acc = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %d = warp.dot %a, %b, %acc transpose_b : memref<64x16xf32, #warp.shared<row_bytes = 64>>, memref<16x16xf32, #warp.shared<row_bytes = 64>>, tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    tile.store %d, %k[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// With `tf32` factors are rounded, and instructions add to the accumulator. The first operand is in
// registers as accumulators are, columns 2 t and 2 t + 1 of lane t of a quad, and so are the rows of
// the second operand, stored KxN: four words per step, which lanes load by themselves.
// CHECK-LABEL: gpu.func @f
// CHECK-NOT: nvvm.ldmatrix
// CHECK-NOT: llvm.fsub
// CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr<3> -> i32
// CHECK: nvvm.mma.sync A[%[[A0:.*]], %[[A1:.*]], %[[A2:.*]], %[[A3:.*]]] B
// CHECK-NEXT: llvm.extractvalue
// CHECK: nvvm.mma.sync A[%[[A0]], %[[A1]], %[[A2]], %[[A3]]] B
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-NOT: llvm.fadd
!memory = memref<?x16xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 16, tf32>)
    tensors([#launch.tensor<"k", read, tensor<?x16xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(4096) : memref<16x16xf32, #warp.shared<row_bytes = 64>>
    %a = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %d = warp.dot %a, %b, %a : tensor<64x16xf32, #warp.mma_sync<warps = 4>>, memref<16x16xf32, #warp.shared<row_bytes = 64>>, tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    tile.store %d, %k[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}
