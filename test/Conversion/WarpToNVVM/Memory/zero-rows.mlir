// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file --verify-diagnostics | FileCheck %s

// The 128 threads of each warp group write 16 bytes each: 16 rows of a panel of
// 128 bytes at a time, so two stores for the first 16 rows of 128 columns. Then
// the group synchronises at its own named barrier.
// CHECK-LABEL: gpu.func @f
// CHECK-DAG: %[[FIRST:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[WARPS:.*]] = arith.constant 4 : i32
// CHECK-DAG: %[[THREADS:.*]] = arith.constant 128 : i32
// CHECK: "@$2 st.shared.v4.b32 [$0+0], {$1, $1, $1, $1};"
// CHECK: "@$2 st.shared.v4.b32 [$0+4096], {$1, $1, $1, $1};"
// CHECK: "@$2 st.shared.v4.b32 [$0+2048], {$1, $1, $1, $1};"
// CHECK: "@$2 st.shared.v4.b32 [$0+6144], {$1, $1, $1, $1};"
// CHECK-NOT: st.shared
// CHECK: nvvm.fence.proxy {{.*}}async.shared
// CHECK: %[[GROUP:.*]] = arith.divui %{{.*}}, %[[WARPS]] : i32
// CHECK: %[[BARRIER:.*]] = arith.addi %[[GROUP]], %[[FIRST]] : i32
// CHECK: nvvm.barrier id = %[[BARRIER]] number_of_threads = %[[THREADS]]
!v = memref<2x32x128xbf16, #warp.shared<row_bytes = 128>>
!vs = memref<32x128xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, tile_n = 32, warps = 8>)
    tensors([]) parameters([#launch.scalar<"stage", i32>, #launch.scalar<"n", i32>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(16384)
  gpu.func @f(%s: i32, %n: i32) kernel {
    %v = warp.alloc offset(0) : !v
    warp.specialize captures(%v, %s, %n : !v, i32, i32)
      role @compute warps(8) regs(240) {
      ^bb0(%v0: !v, %s0: i32, %n0: i32):
        %from = arith.index_cast %n0 : i32 to index
        %vs = warp.stage %v0[%s0] : !v to !vs
        warp.zero_rows %vs from %from : !vs
        warp.return
      }
    gpu.return
  }
}

// -----

// The only warp of a role that issues dots writes 4 rows at a time.
// CHECK-LABEL: gpu.func @one_warp
// CHECK: scf.if
// CHECK: nvvm.elect.sync
// CHECK: "@$2 st.shared.v4.b32 [$0+0], {$1, $1, $1, $1};"
// CHECK: "@$2 st.shared.v4.b32 [$0+512], {$1, $1, $1, $1};"
// CHECK-NOT: st.shared
// CHECK: nvvm.fence.proxy {{.*}}async.shared
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: nvvm.tcgen05.mma
!q = memref<128x16xbf16, #warp.shared<row_bytes = 32>>
!v = memref<8x64xbf16, #warp.shared<row_bytes = 128>>
!k = memref<64x16xbf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  launch.abi @one_warp target("sm_100a") plan(<#warp.tcgen05_unit>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8192)
  gpu.func @one_warp(%n: index) kernel {
    %q = warp.alloc offset(0) : !q
    %k = warp.alloc offset(4096) : !k
    %v = warp.alloc offset(6144) : !v
    %s = warp.tmem_alloc column(0) : memref<128x64xf32, #warp.tmem>
    warp.specialize captures(%q, %k, %v, %s, %n : !q, !k, !v, memref<128x64xf32, #warp.tmem>, index)
      role @mma warps(4) regs(240) {
      ^bb0(%q0: !q, %k0: !k, %v0: !v, %s0: memref<128x64xf32, #warp.tmem>, %n0: index):
        %false = arith.constant false
        warp.zero_rows %v0 from %n0 : !v
        warp.dot_into %q0, %k0, %s0 accumulate(%false) transpose_b : !q, !k, memref<128x64xf32, #warp.tmem>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8192)
  gpu.func @f(%n: index) kernel {
    %v = warp.alloc offset(0) : memref<32x64xbf16, #warp.shared<row_bytes = 128>>
    // expected-error@+1 {{'warp.zero_rows' op must be in a role of whole warp groups or of a part of one, or in one that issues dots into tensor memory}}
    warp.zero_rows %v from %n : memref<32x64xbf16, #warp.shared<row_bytes = 128>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(16384)
  gpu.func @f(%n: index) kernel {
    %v = warp.alloc offset(0) : memref<96x64xbf16, #warp.shared<row_bytes = 128>>
    warp.specialize captures(%v, %n : memref<96x64xbf16, #warp.shared<row_bytes = 128>>, index)
      role @compute warps(6) regs(240) {
      ^bb0(%v0: memref<96x64xbf16, #warp.shared<row_bytes = 128>>, %n0: index):
        %x = arith.constant dense<1.0> : tensor<96x64xbf16, #warp.mma_sync<warps = 6>>
        warp.local_store %x to %v0 : tensor<96x64xbf16, #warp.mma_sync<warps = 6>>, memref<96x64xbf16, #warp.shared<row_bytes = 128>>
        // expected-error@+1 {{'warp.zero_rows' op must be in a role of whole warp groups or of a part of one, or in one that issues dots into tensor memory}}
        warp.zero_rows %v0 from %n0 : memref<96x64xbf16, #warp.shared<row_bytes = 128>>
        warp.return
      }
      role @other warps(2) regs(240) {
      ^bb0(%v0: memref<96x64xbf16, #warp.shared<row_bytes = 128>>, %n0: index):
        warp.return
      }
    gpu.return
  }
}
