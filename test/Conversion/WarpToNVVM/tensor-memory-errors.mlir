// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file --verify-diagnostics

!s = memref<128x64xf32, #warp.tmem>
gpu.module @m {
  launch.abi @no_roles target("sm_100a") plan(<#warp.tcgen05_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16)
  gpu.func @no_roles() kernel {
    // expected-error@+2 {{failed to legalize operation 'warp.tmem_alloc'}}
    // expected-error@+1 {{needs a kernel with roles}}
    %s = warp.tmem_alloc column(0) : !s
    gpu.return
  }
}

// -----

!s = memref<128x64xf32, #warp.tmem>
gpu.module @m {
  launch.abi @three_warps target("sm_100a") plan(<#warp.tcgen05_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16)
  gpu.func @three_warps() kernel {
    %s = warp.tmem_alloc column(0) : !s
    warp.specialize captures(%s : !s)
      role @softmax warps(3) regs(96) {
      ^bb0(%s0: !s):
        // expected-error@+2 {{failed to legalize operation 'warp.tmem_load'}}
        // expected-error@+1 {{accesses 128 lanes of tensor memory: expected a role of one warp group that starts at a multiple of 4 warps}}
        %x = warp.tmem_load %s0 : !s to tensor<128x64xf32, #warp.thread_rows>
        warp.return
      }
      role @load warps(1) regs(96) {
      ^bb0(%s1: !s):
        warp.return
      }
    gpu.return
  }
}

// -----

!s = memref<128x64xf32, #warp.tmem>
gpu.module @m {
  launch.abi @two_groups target("sm_100a") plan(<#warp.tcgen05_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(16)
  gpu.func @two_groups() kernel {
    %s = warp.tmem_alloc column(0) : !s
    warp.specialize captures(%s : !s)
      role @softmax warps(8) regs(96) {
      ^bb0(%s0: !s):
        %x = arith.constant dense<0.0> : tensor<128x64xf32, #warp.thread_rows>
        // expected-error@+2 {{failed to legalize operation 'warp.tmem_store'}}
        // expected-error@+1 {{accesses 128 lanes of tensor memory: expected a role of one warp group that starts at a multiple of 4 warps}}
        warp.tmem_store %x to %s0 : tensor<128x64xf32, #warp.thread_rows>, !s
        warp.return
      }
    gpu.return
  }
}

// -----

!s = memref<128x64xf32, #warp.tmem>
gpu.module @m {
  launch.abi @layout target("sm_100a") plan(<#warp.tcgen05_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16)
  gpu.func @layout() kernel {
    %s = warp.tmem_alloc column(0) : !s
    warp.specialize captures(%s : !s)
      role @softmax warps(4) regs(96) {
      ^bb0(%s0: !s):
        // expected-error@+2 {{failed to legalize operation 'warp.tmem_load'}}
        // expected-error@+1 {{expected a tile with one row per thread, found 'tensor<128x64xf32, #warp.mma_sync<warps = 4>>'}}
        %x = warp.tmem_load %s0 : !s to tensor<128x64xf32, #warp.mma_sync<warps = 4>>
        warp.return
      }
    gpu.return
  }
}

// -----

!s = memref<128x64xf32, #warp.tmem>
!a = memref<128x32xf32, #warp.shared<row_bytes = 128>>
!b = memref<32x64xf32, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @elements target("sm_100a") plan(<#warp.tcgen05_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(24592)
  gpu.func @elements() kernel {
    %a = warp.alloc offset(0) : !a
    %b = warp.alloc offset(16384) : !b
    %s = warp.tmem_alloc column(0) : !s
    warp.specialize captures(%a, %b, %s : !a, !b, !s)
      role @mma warps(4) regs(96) {
      ^bb0(%a0: !a, %b0: !b, %s0: !s):
        %true = arith.constant true
        // expected-error@+2 {{failed to legalize operation 'warp.dot_into'}}
        // expected-error@+1 {{tcgen05 multiplies f16 or bf16, found 'f32'}}
        warp.dot_into %a0, %b0, %s0 accumulate(%true) : !a, !b, !s
        warp.return
      }
    gpu.return
  }
}

// -----

!s = memref<128x24xf32, #warp.tmem>
!a = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!b = memref<24x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @columns target("sm_100a") plan(<#warp.tcgen05_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(24592)
  gpu.func @columns() kernel {
    %a = warp.alloc offset(0) : !a
    %b = warp.alloc offset(16384) : !b
    %s = warp.tmem_alloc column(0) : !s
    warp.specialize captures(%a, %b, %s : !a, !b, !s)
      role @mma warps(4) regs(96) {
      ^bb0(%a0: !a, %b0: !b, %s0: !s):
        %true = arith.constant true
        // expected-error@+2 {{failed to legalize operation 'warp.dot_into'}}
        // expected-error@+1 {{tcgen05 needs a multiple of 16 columns up to 256 and a sum over a multiple of 16, found 'memref<128x24xf32, #warp.tmem>' and a sum over 64}}
        warp.dot_into %a0, %b0, %s0 accumulate(%true) transpose_b : !a, !b, !s
        warp.return
      }
    gpu.return
  }
}

// -----

!s = memref<128x64xf32, #warp.tmem>
!a = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!b = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @computes target("sm_100a") plan(<#warp.tcgen05_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(24592)
  gpu.func @computes() kernel {
    %a = warp.alloc offset(0) : !a
    %b = warp.alloc offset(16384) : !b
    %s = warp.tmem_alloc column(0) : !s
    warp.specialize captures(%a, %b, %s : !a, !b, !s)
      role @mma warps(4) regs(96) {
      ^bb0(%a0: !a, %b0: !b, %s0: !s):
        %true = arith.constant true
        // expected-error@+2 {{failed to legalize operation 'warp.dot_into'}}
        // expected-error@+1 {{needs a role that only issues asynchronous ops}}
        warp.dot_into %a0, %b0, %s0 accumulate(%true) transpose_b : !a, !b, !s
        %x = warp.tmem_load %s0 : !s to tensor<128x64xf32, #warp.thread_rows>
        warp.return
      }
    gpu.return
  }
}

// -----

!b = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @column target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, warps = 4>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8192)
  gpu.func @column() kernel {
    %b = warp.alloc offset(0) : !b
    warp.specialize captures(%b : !b)
      role @compute warps(4) regs(96) {
      ^bb0(%b0: !b):
        %x = arith.constant dense<1.0> : tensor<64x32xbf16, #warp.wgmma<groups = 1>>
        // expected-error@+2 {{failed to legalize operation 'warp.local_store'}}
        // expected-error@+1 {{'column' needs threads that hold whole rows, and parts of 16 bytes, found 'tensor<64x32xbf16, #warp.wgmma<groups = 1>>' at column 32}}
        warp.local_store %x to %b0 column(32) : tensor<64x32xbf16, #warp.wgmma<groups = 1>>, !b
        warp.return
      }
    gpu.return
  }
}

// -----

// Boxes of tensor maps have at most 256 rows.
!buffer = memref<512x64xbf16, #warp.shared<row_bytes = 128>>
!out = memref<512x64xbf16, strided<[64, 1]>>
gpu.module @m {
  launch.abi @copies target("sm_100a") plan(<#warp.tcgen05_unit>)
    tensors([#launch.tensor<"o", write, tensor<512x64xbf16>, ["M", "N"], 16>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(65552)
  gpu.func @copies(%o: !out) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc offset(0) : !buffer
    warp.specialize captures(%b, %o, %c0 : !buffer, !out, index)
      role @load warps(2) regs(96) {
      ^bb0(%b0: !buffer, %o0: !out, %z0: index):
        warp.return
      }
      role @store warps(2) regs(96) {
      ^bb0(%b1: !buffer, %o1: !out, %z1: index):
        // expected-error@+1 {{one warp copies out at most 256 rows, found 512}}
        warp.copy_out %b1 to %o1[%z1, %z1] dims [0, 1] : !buffer to !out
        warp.return
      }
    gpu.return
  }
}

// -----

!s = memref<128x64xf32, #warp.tmem>
gpu.module @m {
  launch.abi @other_target target("sm_90a") plan(<#warp.wgmma_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16)
  gpu.func @other_target() kernel {
    // expected-error@+1 {{needs a target with tensor memory, found 'sm_90a'}}
    %s = warp.tmem_alloc column(0) : !s
    warp.specialize captures(%s : !s)
      role @softmax warps(4) regs(96) {
      ^bb0(%s0: !s):
        warp.return
      }
    gpu.return
  }
}

// -----

!s = memref<128x64xf32, #warp.tmem>
gpu.module @m {
  launch.abi @no_memory target("sm_100a") plan(<#warp.tcgen05_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @no_memory() kernel {
    // expected-error@+1 {{needs 16 bytes of shared memory for its address, found 0; run 'warp-allocate-shared-memory' first}}
    %s = warp.tmem_alloc column(0) : !s
    warp.specialize captures(%s : !s)
      role @softmax warps(4) regs(96) {
      ^bb0(%s0: !s):
        warp.return
      }
    gpu.return
  }
}
