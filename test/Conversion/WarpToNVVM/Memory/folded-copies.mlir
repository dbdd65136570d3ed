// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file --verify-diagnostics | FileCheck %s

// TMA has a dimension of its own for the dimension folded into the rows.
// CHECK-LABEL: launch.abi @engine
// CHECK-SAME: parameters([#launch.tensor_map<"q", [3, 1, 2, 0], box = [64, 4, 16, 1], swizzle = 128>])
// CHECK: gpu.func @engine(%[[Q:.*]]: !llvm.ptr) kernel
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[C7:.*]] = arith.constant 7 : i32
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : i32
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i32
// CHECK: "@${{.*}} cp.async.bulk.tensor.4d.{{.*}} %{{.*}}, %[[Q]], %[[C0]], %[[C2]], %[[C8]], %[[C7]],
// CHECK: "@${{.*}} cp.async.bulk.tensor.4d.{{.*}} %{{.*}}, %[[Q]], %[[C64]], %[[C2]], %[[C8]], %[[C7]],
// CHECK-NOT: cp.async.bulk.tensor
!q = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
!bq = memref<64x128xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @engine target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([#launch.tensor<"q", read, tensor<?x?x?x128xbf16>, ["B", "S", "H", "D"], 16>])
    parameters([#launch.memref<"q", [0, 2, 1, 3]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(32768)
  gpu.func @engine(%q: !q) kernel {
    %bq = warp.alloc offset(0) : !bq
    %p = warp.pipeline offset(16384) : !warp.pipeline<1>
    warp.specialize captures(%q, %bq, %p : !q, !bq, !warp.pipeline<1>)
      role @load warps(4) regs(24) {
      ^bb0(%q0: !q, %bq0: !bq, %p0: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %c2 = arith.constant 2 : index
        %c7 = arith.constant 7 : index
        %c8 = arith.constant 8 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p0[%z, %z] : !warp.pipeline<1>
        warp.copy async %q0[%c7, %c8, %c2, %c0] dims [1, 3] fold [2, 4] to %bq0 : !q to !bq
        warp.producer_commit %p0[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(4) regs(240) {
      ^bb0(%q1: !q, %bq1: !bq, %p1: !warp.pipeline<1>):
        warp.return
      }
    gpu.return
  }
}

// -----

// Each instruction copies whole folds.
!q = memref<?x?x512x64xbf16, strided<[?, ?, ?, 1]>>
!bq = memref<1024x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @long target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([#launch.tensor<"q", read, tensor<?x?x512x64xbf16>, ["B", "H", "S", "D"], 16>])
    parameters([#launch.memref<"q", [0, 1, 2, 3]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(196608)
  gpu.func @long(%q: !q) kernel {
    %bq = warp.alloc offset(0) : !bq
    %p = warp.pipeline offset(131072) : !warp.pipeline<1>
    warp.specialize captures(%q, %bq, %p : !q, !bq, !warp.pipeline<1>)
      role @load warps(4) regs(24) {
      ^bb0(%q0: !q, %bq0: !bq, %p0: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p0[%z, %z] : !warp.pipeline<1>
        // expected-error@+1 {{each CTA copies whole folds of up to 256 rows, found 512 in a fold and 1024 in all}}
        warp.copy async %q0[%c0, %c0, %c0, %c0] dims [1, 3] fold [2, 512] to %bq0 : !q to !bq
        warp.producer_commit %p0[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(4) regs(240) {
      ^bb0(%q1: !q, %bq1: !bq, %p1: !warp.pipeline<1>):
        warp.return
      }
    gpu.return
  }
}

// -----

// Threads that copy or store compute and check both coordinates.
// CHECK-LABEL: gpu.func @threads
// CHECK-SAME: %{{.*}}: !llvm.ptr<1>, %[[H:.*]]: i32,
// CHECK: %[[HEAD:.*]] = arith.divui %{{.*}}, %c8_i32
// CHECK: %[[QUERY:.*]] = arith.remui %{{.*}}, %c8_i32
// CHECK: %[[A:.*]] = arith.cmpi ult, %[[HEAD]], %[[H]]
// CHECK: %[[B:.*]] = arith.cmpi ult, %[[QUERY]], %c3_i32
// CHECK: %[[BOTH:.*]] = arith.andi %[[A]], %[[B]]
// CHECK: arith.select %[[BOTH]], %c16_i32, %c0_i32
// CHECK: nvvm.cp.async.shared.global
// CHECK: arith.divui %{{.*}}, %c8_i64
// CHECK: arith.remui %{{.*}}, %c8_i64
// CHECK: st.global
// Of a fold of eight rows six exist: the others are not stored.
// CHECK: arith.cmpi ult, %{{.*}}, %c6_i64
// CHECK: st.global
!memory = memref<?x3x32xbf16, strided<[?, ?, 1]>>
gpu.module @m {
  launch.abi @threads target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x3x32xbf16>, ["H", "S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1, 2]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @threads(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(1024) : memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    warp.copy async %k[%c0, %c0, %c0] dims [0, 2] fold [1, 8] to %b : !memory to memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    %x = arith.constant dense<1.0> : tensor<64x32xbf16, #warp.mma_sync<warps = 4>>
    tile.store %x, %k[%c0, %c0, %c0] dims [0, 2] fold [1, 8] : tensor<64x32xbf16, #warp.mma_sync<warps = 4>>, !memory
    tile.store %x, %k[%c0, %c0, %c0] dims [0, 2] fold [1, 8, 6] : tensor<64x32xbf16, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}
