// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file --verify-diagnostics | FileCheck %s

// Columns from any multiple of eight to a size that the host passes: of each
// chunk the bytes up to the end are copied, and none of a chunk that is out of
// bounds.
// CHECK-LABEL: gpu.func @f
// CHECK-SAME: %[[K:.*]]: !llvm.ptr<1>, %[[S:[^ ]*]]: i32, %[[D:[^ ]*]]: i32
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %{{.*}}, %[[S]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[AT:.*]], %[[D]]
// CHECK: %[[BOTH:.*]] = arith.andi %[[EXISTS]], %[[INSIDE]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[D]], %[[AT]]
// CHECK: %[[MOST:.*]] = arith.minui %[[LEFT]], %c8_i32
// CHECK: %[[SOME:.*]] = arith.muli %[[MOST]], %c2_i32
// CHECK: %[[BYTES:.*]] = arith.select %[[BOTH]], %[[SOME]], %c0_i32
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[BYTES]]
!memory = memref<?x?xbf16, strided<[?, 1]>>
!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x?xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c1 : !memory
    %b = warp.alloc offset(1024) : !buffer
    scf.for %i = %c0 to %n step %c32 {
      %next = arith.addi %i, %c32 : index
      warp.copy async %k[%c0, %next] dims [0, 1] to %b : !memory to !buffer
    }
    gpu.return
  }
}

// -----

// A step that is not a multiple of eight.
!memory = memref<?x?xbf16, strided<[?, 1]>>
!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x?xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %n = memref.dim %k, %c1 : !memory
    %b = warp.alloc offset(1024) : !buffer
    scf.for %i = %c0 to %n step %c4 {
      // expected-error @+2 {{copies move 16 bytes at a time: expected a first column that is provably a multiple of 8}}
      // expected-error @+1 {{failed to legalize operation 'warp.copy'}}
      warp.copy async %k[%c0, %i] dims [0, 1] to %b : !memory to !buffer
    }
    gpu.return
  }
}

// -----

// Rows without alignment.
!memory = memref<?x?xbf16, strided<[?, 1]>>
!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x?xbf16>, ["S", "D"], 2>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(1024) : !buffer
    // expected-error @+2 {{copies move 16 bytes at a time: the tensor must be 16-byte aligned}}
    // expected-error @+1 {{failed to legalize operation 'warp.copy'}}
    warp.copy async %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    gpu.return
  }
}
