// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file --verify-diagnostics | FileCheck %s

// Each warp stores 16 rows of 16 columns at a time and copies its rows of each
// panel; the tensor ends within one of them.
// CHECK-LABEL: launch.abi @f
// CHECK-SAME: parameters([#launch.tensor_map<"o", [2, 1, 0], box = [64, 16, 1], swizzle = 128>])
// CHECK: gpu.func @f(%[[O:.*]]: !llvm.ptr) kernel
// CHECK: nvvm.prefetch tensormap, %[[O]] : !llvm.ptr
// CHECK: nvvm.elect.sync
// CHECK: %[[LEADER:.*]] = nvvm.elect.sync
// CHECK-COUNT-5: stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};
// CHECK-NOT: stmatrix
// CHECK: nvvm.fence.proxy {{.*}}async.shared
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "@$5 cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [$1, {$2, $3, $4}], [$0];", "r,l,r,r,r,b,~{memory}" %{{.*}}, %[[O]], %{{.*}}, %[[LEADER]]
// CHECK: "@$5 cp.async.bulk.tensor.3d{{.*}} %{{.*}}, %[[O]], %{{.*}}, %[[LEADER]]
// CHECK-NOT: bulk.tensor
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0{{$}}
// CHECK-NEXT: nvvm.bar.warp.sync
!o = memref<?x?x80xbf16, strided<[?, ?, 1]>>
!b = memref<128x80xbf16, #warp.shared<row_bytes = 128>>
!x = tensor<128x80xbf16, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x?x80xbf16>, ["H", "S", "D"], 16>]) parameters([#launch.memref<"o", [0, 1, 2]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(32784)
  gpu.func @f(%o: !o) kernel {
    %b = warp.alloc offset(0) : !b
    warp.specialize captures(%o, %b : !o, !b)
      role @load warps(4) regs(24) {
      ^bb0(%o0: !o, %b0: !b):
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%o0: !o, %b0: !b):
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : !x
        warp.local_store %x to %b0 : !x, !b
        warp.fence_stores %b0 : !b
        warp.copy_out async %b0 to %o0[%c0, %c0, %c0] dims [1, 2] : !b to !o
        warp.copy_out_wait %b0 : !b
        warp.copy_out_wait written %b0 : !b
        warp.return
      }
    gpu.return
  }
}

// -----

// Accumulators in f32: 8 bytes per store, added to memory. The folded heads are
// another dimension. A synchronous copy waits for itself.
// CHECK: launch.abi @adds
// CHECK-SAME: box = [32, 4, 4], swizzle = 128>])
// CHECK-LABEL: gpu.func @adds
// CHECK-COUNT-8: "st.shared.v2.b32 [$0], {$1, $2};"
// CHECK-NOT: st.shared
// CHECK: cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [$1, {$2, $3, $4}], [$0];
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
!o = memref<?x?x32xf32, strided<[?, ?, 1]>>
!b = memref<64x32xf32, #warp.shared<row_bytes = 128>>
!x = tensor<64x32xf32, #warp.wgmma<groups = 1>>
gpu.module @m {
  launch.abi @adds target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x?x32xf32>, ["S", "H", "D"], 16>]) parameters([#launch.memref<"o", [0, 1, 2]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8208)
  gpu.func @adds(%o: !o) kernel {
    %b = warp.alloc offset(0) : !b
    warp.specialize captures(%o, %b : !o, !b)
      role @compute warps(4) regs(240) {
      ^bb0(%o0: !o, %b0: !b):
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : !x
        warp.local_store %x to %b0 : !x, !b
        warp.fence_stores %b0 : !b
        warp.copy_out add %b0 to %o0[%c0, %c0, %c0] dims [0, 2] fold [1, 4] : !b to !o
        warp.return
      }
    gpu.return
  }
}

// -----

// An operand of a dot is overwritten when the dots of the whole warp group are
// done.
// CHECK-LABEL: gpu.func @reused
// CHECK: wgmma.mma_async
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads
// CHECK: stmatrix
!b = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!x = tensor<64x64xf32, #warp.wgmma<groups = 1>>
gpu.module @m {
  launch.abi @reused target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8208)
  gpu.func @reused() kernel {
    %b = warp.alloc offset(0) : !b
    warp.specialize captures(%b : !b)
      role @compute warps(4) regs(240) {
      ^bb0(%b0: !b):
        %z = arith.constant dense<0.0> : !x
        %p = warp.dot async %b0, %b0, %z transpose_b : !b, !b, !x
        %x = warp.dot_wait %p : !warp.pending<!x>
        %t = arith.truncf %x : !x to tensor<64x64xbf16, #warp.wgmma<groups = 1>>
        warp.local_store %t to %b0 : tensor<64x64xbf16, #warp.wgmma<groups = 1>>, !b
        warp.return
      }
    gpu.return
  }
}

// -----

!b = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(8208)
  gpu.func @f() kernel {
    %b = warp.alloc offset(0) : !b
    // expected-error@+1 {{'warp.fence_stores' op must be in a role of whole warp groups}}
    warp.fence_stores %b : !b
    gpu.return
  }
}

// -----

!o = memref<?x64xbf16, strided<[?, 1]>>
!b = memref<32x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8208)
  gpu.func @f(%o: !o) kernel {
    %b = warp.alloc offset(0) : !b
    warp.specialize captures(%o, %b : !o, !b)
      role @compute warps(4) regs(240) {
      ^bb0(%o0: !o, %b0: !b):
        %c0 = arith.constant 0 : index
        // expected-error@+1 {{needs 16 rows for each of the role's 4 warps, found 32}}
        warp.copy_out async %b0 to %o0[%c0, %c0] dims [0, 1] : !b to !o
        warp.copy_out_wait %b0 : !b
        warp.return
      }
    gpu.return
  }
}

// -----

!o = memref<?x?x64xbf16, strided<[?, ?, 1]>>
!b = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x?x64xbf16>, ["H", "S", "D"], 16>]) parameters([#launch.memref<"o", [0, 1, 2]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8208)
  gpu.func @f(%o: !o) kernel {
    %b = warp.alloc offset(0) : !b
    warp.specialize captures(%o, %b : !o, !b)
      role @compute warps(4) regs(240) {
      ^bb0(%o0: !o, %b0: !b):
        %c0 = arith.constant 0 : index
        // expected-error@+1 {{a warp copies 16 rows: expected a fold extent that divides them, found 32}}
        warp.copy_out async %b0 to %o0[%c0, %c0, %c0] dims [1, 2] fold [0, 32] : !b to !o
        warp.copy_out_wait %b0 : !b
        warp.return
      }
    gpu.return
  }
}

// -----

!o = memref<?x64xbf16, strided<[?, 2]>>
!b = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 2>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8208)
  gpu.func @f(%o: !o) kernel {
    %b = warp.alloc offset(0) : !b
    warp.specialize captures(%o, %b : !o, !b)
      role @compute warps(4) regs(240) {
      ^bb0(%o0: !o, %b0: !b):
        %c0 = arith.constant 0 : index
        // expected-error@+1 {{columns must be contiguous}}
        warp.copy_out async %b0 to %o0[%c0, %c0] dims [0, 1] : !b to !o
        warp.copy_out_wait %b0 : !b
        warp.return
      }
    gpu.return
  }
}

// -----

// Accumulators in fragments need warps with 16 rows each.
!b = memref<128x64xf32, #warp.shared<row_bytes = 128>>
!x = tensor<128x64xf32, #warp.mma_sync<warps = 4>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(32784)
  gpu.func @f() kernel {
    %b = warp.alloc offset(0) : !b
    warp.specialize captures(%b : !b)
      role @compute warps(4) regs(240) {
      ^bb0(%b0: !b):
        %x = arith.constant dense<1.0> : !x
        // expected-error@+2 {{failed to legalize operation 'warp.local_store'}}
        // expected-error@+1 {{fragments are stored by warps that hold 16 rows each, found 'tensor<128x64xf32, #warp.mma_sync<warps = 4>>'}}
        warp.local_store %x fragments to %b0 : !x, !b
        warp.return
      }
    gpu.return
  }
}

// -----

!o = memref<?x64xf32>
!b = memref<64x64xf32, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1, cluster = 2>)
    tensors([#launch.tensor<"o", accumulate, tensor<?x64xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (2)>) threads(128) shared_memory(16400) cluster(2)
  gpu.func @f(%o: !o) kernel {
    %b = warp.alloc offset(0) : !b
    warp.specialize captures(%o, %b : !o, !b) cluster(2)
      role @compute warps(4) regs(240) {
      ^bb0(%o0: !o, %b0: !b):
        %c0 = arith.constant 0 : index
        // expected-error@+1 {{does not support fragments in a cluster}}
        warp.copy_out async add %b0 to %o0[%c0, %c0] dims [0, 1] fragments : !b to !o
        warp.copy_out_wait %b0 : !b
        warp.return
      }
    gpu.return
  }
}
