// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file --verify-diagnostics

// Dots need a role of whole warp groups.
gpu.module @m {
  launch.abi @no_role target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @no_role() kernel {
    %b = warp.alloc offset(0) : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    %a = arith.constant dense<1.0> : tensor<64x64xbf16, #warp.wgmma<groups = 1>>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #warp.wgmma<groups = 1>>
    // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
    // expected-error@+1 {{wgmma needs a role of whole warp groups}}
    %s = warp.dot %a, %b, %zero : tensor<64x64xbf16, #warp.wgmma<groups = 1>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, tensor<64x64xf32, #warp.wgmma<groups = 1>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @element target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @element() kernel {
    %b = warp.alloc offset(0) : memref<64x32xf32, #warp.shared<row_bytes = 128>>
    warp.specialize captures(%b : memref<64x32xf32, #warp.shared<row_bytes = 128>>)
      role @compute warps(4) regs(240) {
      ^bb0(%b0: memref<64x32xf32, #warp.shared<row_bytes = 128>>):
        %a = arith.constant dense<1.0> : tensor<64x64xf32, #warp.wgmma<groups = 1>>
        %zero = arith.constant dense<0.0> : tensor<64x32xf32, #warp.wgmma<groups = 1>>
        // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
        // expected-error@+1 {{wgmma multiplies f16, bf16, f8E4M3FN or f8E5M2, found 'f32'}}
        %s = warp.dot %a, %b0, %zero : tensor<64x64xf32, #warp.wgmma<groups = 1>>, memref<64x32xf32, #warp.shared<row_bytes = 128>>, tensor<64x32xf32, #warp.wgmma<groups = 1>>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @columns target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @columns() kernel {
    %b = warp.alloc offset(0) : memref<16x320xbf16, #warp.shared<row_bytes = 128>>
    warp.specialize captures(%b : memref<16x320xbf16, #warp.shared<row_bytes = 128>>)
      role @compute warps(4) regs(240) {
      ^bb0(%b0: memref<16x320xbf16, #warp.shared<row_bytes = 128>>):
        %a = arith.constant dense<1.0> : tensor<64x16xbf16, #warp.wgmma<groups = 1>>
        %zero = arith.constant dense<0.0> : tensor<64x320xf32, #warp.wgmma<groups = 1>>
        // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
        // expected-error@+1 {{wgmma needs 64 rows a warp group, a multiple of 8 columns up to 256 and a sum over a multiple of 16, found 'tensor<64x320xf32, #warp.wgmma<groups = 1>>' and a sum over 16}}
        %s = warp.dot %a, %b0, %zero : tensor<64x16xbf16, #warp.wgmma<groups = 1>>, memref<16x320xbf16, #warp.shared<row_bytes = 128>>, tensor<64x320xf32, #warp.wgmma<groups = 1>>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @wait target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @wait() kernel {
    warp.specialize
      role @compute warps(4) regs(240) {
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #warp.mma_sync<warps = 4>>
        %p = warp.begin_sum %zero : tensor<64x64xf32, #warp.mma_sync<warps = 4>>
        // expected-error@+2 {{failed to legalize operation 'warp.dot_wait'}}
        // expected-error@+1 {{supports wgmma dots only, found}}
        %s = warp.dot_wait %p : !warp.pending<tensor<64x64xf32, #warp.mma_sync<warps = 4>>>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @await_reads target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @await_reads() kernel {
    warp.specialize
      role @compute warps(4) regs(240) {
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #warp.mma_sync<warps = 4>>
        %p = warp.begin_sum %zero : tensor<64x64xf32, #warp.mma_sync<warps = 4>>
        // expected-error@+2 {{failed to legalize operation 'warp.await_reads'}}
        // expected-error@+1 {{supports wgmma dots only, found}}
        warp.await_reads %p : !warp.pending<tensor<64x64xf32, #warp.mma_sync<warps = 4>>>
        warp.return
      }
    gpu.return
  }
}

// -----

// 8-bit operands have one order.
gpu.module @m {
  launch.abi @order target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @order() kernel {
    %b = warp.alloc offset(0) : memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
    warp.specialize captures(%b : memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>)
      role @compute warps(4) regs(240) {
      ^bb0(%b0: memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>):
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #warp.wgmma<groups = 1>>
        // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
        // expected-error@+1 {{wgmma sums 8-bit operands along their columns: expected 'transpose_b' and no 'transpose_a', found 'memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>' and 'memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>'}}
        %s = warp.dot %b0, %b0, %zero : memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>, memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>, tensor<64x64xf32, #warp.wgmma<groups = 1>>
        warp.return
      }
    gpu.return
  }
}
