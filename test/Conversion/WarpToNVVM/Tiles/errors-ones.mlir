// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file --verify-diagnostics

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(34832)
  gpu.func @f() kernel {
    // expected-error@+1 {{a buffer of ones needs a kernel with roles}}
    %ones = warp.ones offset(0) : memref<16x8xbf16, #warp.shared<row_bytes = 128>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(34832)
  gpu.func @f() kernel {
    // expected-error@+1 {{buffer of ones has no offset; run 'warp-allocate-shared-memory' first}}
    %ones = warp.ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>
    warp.specialize
      role @compute warps(4) regs(240) { warp.return }
    gpu.return
  }
}

// -----

#acc = #warp.wgmma<groups = 1>
!v = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ones = memref<16x8xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(34832)
  gpu.func @f() kernel {
    %v = warp.alloc offset(2048) : !v
    %ones = warp.ones offset(0) : !ones
    warp.specialize captures(%v, %ones : !v, !ones)
      role @compute warps(4) regs(240) {
      ^bb0(%v0: !v, %ones0: !ones):
        %x = arith.constant dense<0.0> : tensor<64x72xf32, #acc>
        %p = arith.constant dense<1.0> : tensor<64x128xbf16, #acc>
        // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
        // expected-error@+1 {{'ones' must be after 'b' in shared memory, found offsets 0 and 2048}}
        %d = warp.dot %p, %v0, %x ones(%ones0 : !ones) : tensor<64x128xbf16, #acc>, !v, tensor<64x72xf32, #acc>
        warp.return
      }
    gpu.return
  }
}

// -----

#acc = #warp.wgmma<groups = 1>
!v = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ones = memref<16x8xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(34832)
  gpu.func @f() kernel {
    %v = warp.alloc offset(0) : !v
    %ones = warp.alloc offset(16384) : !ones
    warp.specialize captures(%v, %ones : !v, !ones)
      role @compute warps(4) regs(240) {
      ^bb0(%v0: !v, %ones0: !ones):
        %x = arith.constant dense<0.0> : tensor<64x72xf32, #acc>
        %p = arith.constant dense<1.0> : tensor<64x128xbf16, #acc>
        // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
        // expected-error@+1 {{'ones' must be the result of a 'warp.ones' with an 'offset'}}
        %d = warp.dot %p, %v0, %x ones(%ones0 : !ones) : tensor<64x128xbf16, #acc>, !v, tensor<64x72xf32, #acc>
        warp.return
      }
    gpu.return
  }
}

// -----

#acc = #warp.wgmma<groups = 1>
!v = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ones = memref<8x8xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(34832)
  gpu.func @f() kernel {
    %v = warp.alloc offset(0) : !v
    %ones = warp.ones offset(16384) : !ones
    warp.specialize captures(%v, %ones : !v, !ones)
      role @compute warps(4) regs(240) {
      ^bb0(%v0: !v, %ones0: !ones):
        %x = arith.constant dense<0.0> : tensor<64x72xf32, #acc>
        %p = arith.constant dense<1.0> : tensor<64x128xbf16, #acc>
        // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
        // expected-error@+1 {{wgmma needs 16 rows of ones, found 'memref<8x8xbf16, #warp.shared<row_bytes = 128>>'}}
        %d = warp.dot %p, %v0, %x ones(%ones0 : !ones) : tensor<64x128xbf16, #acc>, !v, tensor<64x72xf32, #acc>
        warp.return
      }
    gpu.return
  }
}

// -----

#acc = #warp.mma_sync<warps = 4>
!v = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ones = memref<16x8xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(34832)
  gpu.func @f() kernel {
    %v = warp.alloc offset(0) : !v
    %ones = warp.ones offset(16384) : !ones
    warp.specialize captures(%v, %ones : !v, !ones)
      role @compute warps(4) regs(240) {
      ^bb0(%v0: !v, %ones0: !ones):
        %x = arith.constant dense<0.0> : tensor<64x72xf32, #acc>
        %p = arith.constant dense<1.0> : tensor<64x128xbf16, #acc>
        // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
        // expected-error@+1 {{mma.sync has no columns of ones}}
        %d = warp.dot %p, %v0, %x ones(%ones0 : !ones) : tensor<64x128xbf16, #acc>, !v, tensor<64x72xf32, #acc>
        warp.return
      }
    gpu.return
  }
}

// -----

#acc = #warp.wgmma<groups = 1>
!k = memref<128x64xbf16, #warp.shared<row_bytes = 64>>
!v = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(34832)
  gpu.func @f() kernel {
    %k = warp.alloc offset(0) : !k
    %v = warp.alloc offset(16384) : !v
    warp.specialize captures(%k, %v : !k, !v)
      role @compute warps(4) regs(240) {
      ^bb0(%k0: !k, %v0: !v):
        %x = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
        // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
        // expected-error@+1 {{wgmma reads a transposed first operand in panels of 64 columns, found 'memref<128x64xbf16, #warp.shared<row_bytes = 64>>'}}
        %d = warp.dot %k0, %v0, %x transpose_a : !k, !v, tensor<64x64xf32, #acc>
        warp.return
      }
    gpu.return
  }
}

// -----

#acc = #warp.wgmma<groups = 1>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!b = memref<64x256xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 64, warps = 16, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(512) shared_memory(65552)
  gpu.func @f() kernel {
    %ba = warp.alloc offset(0) : !a
    %bb = warp.alloc offset(8192) : !b
    warp.specialize captures(%ba, %bb : !a, !b)
      role @load warps(12) regs(24) {
      ^bb0(%a: !a, %b: !b):
        warp.return
      }
      role @compute warps(4) regs(240) {
      ^bb0(%a: !a, %b: !b):
        %zero = arith.constant dense<0.0> : tensor<64x128xf32, #acc>
        // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
        // expected-error@+1 {{wgmma needs a first column that is a multiple of 64, found 32}}
        %d = warp.dot %a, %b, %zero columns(32) : !a, !b, tensor<64x128xf32, #acc>
        warp.return
      }
    gpu.return
  }
}

// -----

#acc = #warp.wgmma<groups = 1>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!w = memref<64x128xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 64, warps = 16, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(512) shared_memory(65552)
  gpu.func @f() kernel {
    %ba = warp.alloc offset(0) : !a
    %bw = warp.alloc offset(8192) : !w
    warp.specialize captures(%ba, %bw : !a, !w)
      role @load warps(12) regs(24) {
      ^bb0(%a: !a, %w: !w):
        warp.return
      }
      role @compute warps(4) regs(240) {
      ^bb0(%a: !a, %w: !w):
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
        // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
        // expected-error@+1 {{wgmma needs a first row that is a multiple of 64, found 32}}
        %d = warp.dot %w, %a, %zero transpose_a rows(32) : !w, !a, tensor<64x64xf32, #acc>
        warp.return
      }
    gpu.return
  }
}
