// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// 128 threads copy 32 rows of four 16-byte chunks at a time; the row swizzles
// the position of a chunk. Rows and columns out of bounds are filled with
// zeros.
// CHECK: llvm.mlir.global external @[[$SHARED:.*]]() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK-LABEL: gpu.func @f
// CHECK-SAME: %[[K:.*]]: !llvm.ptr<1>, %[[S:.*]]: i32, %[[STRIDE:.*]]: i32
// CHECK: %[[ADDRESS:.*]] = llvm.mlir.addressof @[[$SHARED]]
// CHECK: %[[BASE:.*]] = llvm.getelementptr %[[ADDRESS]][1024]
// CHECK-NOT: gpu.barrier
// CHECK: %[[THREAD:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: %[[CHUNK:.*]] = arith.remui %[[THREAD]], %c4_i32
// CHECK: %[[ROW:.*]] = arith.divui %[[THREAD]], %c4_i32
// CHECK: %[[PAIR:.*]] = arith.divui %[[ROW]], %c2_i32
// CHECK: %[[TURN:.*]] = arith.remui %[[PAIR]], %c4_i32
// CHECK: arith.xori %[[CHUNK]], %[[TURN]]
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW]], %[[S]]
// CHECK: %[[BYTES:.*]] = arith.select %[[EXISTS]], %c16_i32, %c0_i32
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[BYTES]]
// CHECK: nvvm.cp.async.shared.global
// CHECK-NOT: nvvm.cp.async
// CHECK: gpu.return
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(1024) : memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    warp.copy async %k[%c0, %c0] dims [0, 1] to %b : !memory to memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    gpu.return
  }
}

// -----

// Without async: a barrier orders the copy after earlier reads, and another one
// before later reads.
// CHECK-LABEL: gpu.func @f
// CHECK: gpu.barrier
// CHECK-COUNT-2: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-NEXT: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(1024) : memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    gpu.return
  }
}

// -----

// A limit is a smaller size; with a false condition no row exists.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[C:.*]] = arith.cmpi
// CHECK: %[[LIMIT:.*]] = arith.minsi
// CHECK: arith.select %[[C]], %[[LIMIT]], %c0_i64
// CHECK: nvvm.cp.async.shared.global
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %one = arith.constant 1 : index
    %d = arith.constant 0 : index
    %n = memref.dim %k, %d : !memory
    %half = arith.divui %n, %one : index
    %t = gpu.block_id x
    %yes = arith.cmpi slt, %t, %n : index
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(1024) : memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    warp.copy async %k[%c0, %c0] limit(%t) if(%yes) dims [0, 1] to %b : !memory to memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    gpu.return
  }
}

// -----

// Columns past the source's are zeros: chunks from 3 of 4 on read nothing.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %c3_i32
// CHECK: %[[BOTH:.*]] = arith.andi %{{.*}}, %[[INSIDE]]
// CHECK: arith.select %[[BOTH]], %c16_i32, %c0_i32
!memory = memref<?x24xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x24xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(1024) : memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    warp.copy async %k[%c0, %c0] dims [0, 1] to %b : !memory to memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    gpu.return
  }
}

// -----

// Two consecutive panels: 16 rows of 64 columns are 2048 bytes.
// CHECK-LABEL: gpu.func @f
// CHECK-COUNT-2: nvvm.cp.async.shared.global
// CHECK-NOT: nvvm.cp.async.shared.global
!memory = memref<?x128xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x128xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(1024) : memref<16x128xbf16, #warp.shared<row_bytes = 128>>
    warp.copy async %k[%c0, %c0] dims [0, 1] to %b : !memory to memref<16x128xbf16, #warp.shared<row_bytes = 128>>
    gpu.return
  }
}

// -----

// Panels of 64 columns for 80: the second panel is complete in shared memory,
// at an offset of 8192 bytes; its columns past the end are zeroed, from chunk 2
// on.
// CHECK-LABEL: gpu.func @ragged
// CHECK: %[[CHUNK:.*]] = arith.remui %{{.*}}, %c8_i32
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult
// CHECK: %[[BYTES:.*]] = arith.select %[[EXISTS]], %c16_i32, %c0_i32
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[BYTES]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[CHUNK]], %c2_i32
// CHECK: %[[BOTH:.*]] = arith.andi %[[EXISTS]], %[[INSIDE]]
// CHECK: %[[SOME:.*]] = arith.select %[[BOTH]], %c16_i32, %c0_i32
// CHECK: %[[TO:.*]] = llvm.getelementptr %{{.*}}[8192]
// CHECK: nvvm.cp.async.shared.global %[[TO]], %{{.*}}, 16, cache = cg, %[[SOME]]
!memory = memref<?x80xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @ragged target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x80xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @ragged(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(0) : memref<64x80xbf16, #warp.shared<row_bytes = 128>>
    warp.copy async %k[%c0, %c0] dims [0, 1] to %b : !memory to memref<64x80xbf16, #warp.shared<row_bytes = 128>>
    gpu.return
  }
}
