// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sync-lanes),warp-to-nvvm))' --split-input-file --verify-diagnostics

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f() kernel {
    // expected-error@+1 {{needs target 'sm_90a' or 'sm_100a' or 'sm_103a', found 'sm_80'}}
    warp.specialize
      role @load warps(4) regs(24) { warp.return }
      role @compute warps(8) regs(240) { warp.return }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel needs 32 threads for each of 12 warps of its roles, found 256}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(8400)
  gpu.func @f() kernel {
    warp.specialize
      role @load warps(4) regs(24) { warp.return }
      role @compute warps(8) regs(240) { warp.return }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{roles need clusters of 2 CTAs, found 1}}
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f() kernel {
    warp.specialize cluster(2)
      role @load warps(4) regs(24) { warp.return }
      role @compute warps(8) regs(240) { warp.return }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f() kernel {
    %P = warp.pipeline offset(8192) : !warp.pipeline<2>
    warp.specialize captures(%P : !warp.pipeline<2>)
      role @load warps(4) regs(24) {
      ^bb0(%p: !warp.pipeline<2>):
        %z = arith.constant 0 : i32
        // expected-error@+1 {{has no commit after it in its block}}
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%p: !warp.pipeline<2>):
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f() kernel {
    %P = warp.pipeline offset(8192) : !warp.pipeline<2>
    %R = warp.pipeline offset(8224) : !warp.pipeline<2>
    warp.specialize captures(%P, %R : !warp.pipeline<2>, !warp.pipeline<2>)
      role @load warps(4) regs(24) {
      ^bb0(%p: !warp.pipeline<2>, %r: !warp.pipeline<2>):
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
        // expected-error@+1 {{acquires a stage before the previous one is committed}}
        warp.producer_acquire %r[%z, %z] : !warp.pipeline<2>
        warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%p: !warp.pipeline<2>, %r: !warp.pipeline<2>):
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f() kernel {
    %P = warp.pipeline offset(8192) : !warp.pipeline<2>
    warp.specialize captures(%P : !warp.pipeline<2>)
      role @load warps(4) regs(24) {
      ^bb0(%p: !warp.pipeline<2>):
        %z = arith.constant 0 : i32
        %o = arith.constant 1 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
        // expected-error@+1 {{commits a stage other than the one acquired last}}
        warp.producer_commit %p[%o, %z] : !warp.pipeline<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%p: !warp.pipeline<2>):
        warp.return
      }
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f(%K: !memory, %N: index) kernel {
    %B = warp.alloc offset(0) : !buffer
    %P = warp.pipeline offset(8192) : !warp.pipeline<2>
    warp.specialize captures(%K, %B, %P : !memory, !buffer, !warp.pipeline<2>)
      role @load warps(4) regs(24) {
      ^bb0(%k: !memory, %b: !buffer, %p: !warp.pipeline<2>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        // expected-error@+1 {{has no stage: expected an acquire before it and a commit after it in its block}}
        warp.copy async %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
        warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%k: !memory, %b: !buffer, %p: !warp.pipeline<2>):
        warp.return
      }
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f(%K: !memory, %N: index) kernel {
    %B = warp.alloc offset(0) : !buffer
    %P = warp.pipeline offset(8192) : !warp.pipeline<2>
    %R = warp.pipeline offset(8224) : !warp.pipeline<2>
    warp.specialize captures(%K, %B, %P, %R : !memory, !buffer, !warp.pipeline<2>, !warp.pipeline<2>)
      role @load warps(4) regs(24) {
      ^bb0(%k: !memory, %b: !buffer, %p: !warp.pipeline<2>, %r: !warp.pipeline<2>):
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
        warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%k: !memory, %b: !buffer, %p: !warp.pipeline<2>, %r: !warp.pipeline<2>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
        // expected-error@+1 {{role 'compute' copies into a pipeline: expected a role that only fills pipelines}}
        warp.producer_acquire %r[%z, %z] : !warp.pipeline<2>
        warp.copy async %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
        warp.producer_commit %r[%z, %z] : !warp.pipeline<2>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f() kernel {
    // expected-error@+1 {{pipeline has no producer role}}
    %P = warp.pipeline offset(8192) : !warp.pipeline<2>
    warp.specialize captures(%P : !warp.pipeline<2>)
      role @load warps(4) regs(24) {
      ^bb0(%p: !warp.pipeline<2>):
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%p: !warp.pipeline<2>):
        %z = arith.constant 0 : i32
        warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f() kernel {
    // expected-error@+1 {{pipeline between roles has no offset; run 'warp-allocate-shared-memory' first}}
    %P = warp.pipeline : !warp.pipeline<2>
    warp.specialize captures(%P : !warp.pipeline<2>)
      role @load warps(4) regs(24) {
      ^bb0(%p: !warp.pipeline<2>):
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
        warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%p: !warp.pipeline<2>):
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f() kernel {
    %P = warp.pipeline offset(8192) : !warp.pipeline<2>
    warp.specialize captures(%P : !warp.pipeline<2>)
      role @load warps(4) regs(24) {
      ^bb0(%p: !warp.pipeline<2>):
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
        warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%p: !warp.pipeline<2>):
        warp.return
      }
    %z = arith.constant 0 : i32
    // expected-error@+1 {{is outside the kernel's roles: expected all uses of the pipeline in roles}}
    warp.consumer_wait %P[%z, %z] : !warp.pipeline<2>
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f(%K: !memory, %N: index) kernel {
    %B = warp.alloc offset(0) : !buffer
    %P = warp.pipeline offset(8192) : !warp.pipeline<2>
    warp.specialize captures(%K, %N, %B, %P : !memory, index, !buffer, !warp.pipeline<2>)
      role @load warps(4) regs(24) {
      ^bb0(%k: !memory, %n: index, %b: !buffer, %p: !warp.pipeline<2>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
        // expected-error@+1 {{'limit' is not supported in a role: TMA only checks the tensor's bounds}}
        warp.copy async %k[%c0, %c0] limit(%n) dims [0, 1] to %b : !memory to !buffer
        warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%k: !memory, %n: index, %b: !buffer, %p: !warp.pipeline<2>):
        warp.return
      }
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f(%K: !memory, %N: index) kernel {
    %B = warp.alloc offset(0) : !buffer
    %P = warp.pipeline offset(8192) : !warp.pipeline<2>
    warp.specialize captures(%K, %B, %P : !memory, !buffer, !warp.pipeline<2>)
      role @load warps(4) regs(24) {
      ^bb0(%k: !memory, %b: !buffer, %p: !warp.pipeline<2>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
        %yes = arith.constant true
        // expected-error@+1 {{'if' is not supported in a role: expected a fixed number of bytes per stage}}
        warp.copy async %k[%c0, %c0] if(%yes) dims [0, 1] to %b : !memory to !buffer
        warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%k: !memory, %b: !buffer, %p: !warp.pipeline<2>):
        warp.return
      }
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f(%K: !memory, %N: index) kernel {
    %B = warp.alloc offset(0) : !buffer
    %P = warp.pipeline offset(8192) : !warp.pipeline<2>
    warp.specialize captures(%K, %B, %P : !memory, !buffer, !warp.pipeline<2>)
      role @load warps(4) regs(24) {
      ^bb0(%k: !memory, %b: !buffer, %p: !warp.pipeline<2>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
        // expected-error@+1 {{columns must be contiguous, found 'memref<?x64xbf16, strided<[?, 1]>>'}}
        warp.copy async %k[%c0, %c0] dims [1, 0] to %b : !memory to !buffer
        warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%k: !memory, %b: !buffer, %p: !warp.pipeline<2>):
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f() kernel {
    // expected-error@+1 {{role 'compute' has 2 warp groups, found turns for 3}}
    %T = warp.turns : !warp.turns<3>
    warp.specialize captures(%T : !warp.turns<3>)
      role @load warps(4) regs(24) {
      ^bb0(%t: !warp.turns<3>):
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%t: !warp.turns<3>):
        warp.begin_turn %t : !warp.turns<3>
        warp.return
      }
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f(%K: !memory, %N: index) kernel {
    // expected-error@+1 {{mailbox has no offset; run 'warp-allocate-shared-memory' first}}
    %M = warp.mailbox : !warp.mailbox<2>
    warp.specialize captures(%N, %M : index, !warp.mailbox<2>)
      role @load warps(4) regs(24) {
      ^bb0(%n: index, %m: !warp.mailbox<2>):
        %z = arith.constant 0 : i32
        warp.send %n to %m[%z] : !warp.mailbox<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%n: index, %m: !warp.mailbox<2>):
        warp.return
      }
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f(%K: !memory, %N: index) kernel {
    %M = warp.mailbox offset(8256) : !warp.mailbox<2>
    %T = warp.turns : !warp.turns<2>
    warp.specialize captures(%N, %M, %T : index, !warp.mailbox<2>, !warp.turns<2>)
      role @load warps(4) regs(24) {
      ^bb0(%n: index, %m: !warp.mailbox<2>, %t: !warp.turns<2>):
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%n: index, %m: !warp.mailbox<2>, %t: !warp.turns<2>):
        %z = arith.constant 0 : i32
        // expected-error@+1 {{role 'compute' fills a mailbox: expected a role that only fills pipelines}}
        warp.send %n to %m[%z] : !warp.mailbox<2>
        warp.begin_turn %t : !warp.turns<2>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f() kernel {
    %T = warp.turns : !warp.turns<2>
    warp.specialize captures(%T : !warp.turns<2>)
      role @load warps(4) regs(24) {
      ^bb0(%t: !warp.turns<2>):
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%t: !warp.turns<2>):
        // expected-error@+1 {{must be in a role that only fills pipelines}}
        %w = warp.fetch_work : index
        warp.begin_turn %t : !warp.turns<2>
        warp.return
      }
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
#acc = #warp.wgmma<groups = 2>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f(%K: !memory, %N: index) kernel {
    %B = warp.alloc offset(0) : !buffer
    warp.specialize captures(%N, %B : index, !buffer)
      role @load warps(4) regs(24) {
      ^bb0(%n: index, %b: !buffer):
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%n: index, %b: !buffer):
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<128x64xf32, #acc>
        %p1 = arith.constant dense<1.0> : tensor<128x64xbf16, #acc>
        %yes = arith.cmpi eq, %n, %c0 : index
        %d = warp.dot async %p1, %b, %zero : tensor<128x64xbf16, #acc>, !buffer, tensor<128x64xf32, #acc>
        %e = warp.dot async %p1, %b, %zero : tensor<128x64xbf16, #acc>, !buffer, tensor<128x64xf32, #acc>
        %t1 = arith.select %yes, %d, %e : !warp.pending<tensor<128x64xf32, #acc>>
        // expected-error@+2 {{failed to legalize operation 'warp.dot_wait'}}
        // expected-error@+1 {{expected an outstanding dot that is passed through loops and branches only}}
        %s = warp.dot_wait %t1 : !warp.pending<tensor<128x64xf32, #acc>>
        warp.return
      }
    gpu.return
  }
}

// -----

!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f() kernel {
    %B = warp.alloc offset(0) : !buffer
    warp.specialize captures(%B : !buffer)
      role @load warps(4) regs(24) {
      ^bb0(%b: !buffer):
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%b: !buffer):
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #warp.wgmma<groups = 1>>
        %p1 = arith.constant dense<1.0> : tensor<64x64xbf16, #warp.wgmma<groups = 1>>
        // expected-error@+2 {{failed to legalize operation 'warp.dot'}}
        // expected-error@+1 {{needs tiles of as many warp groups as its role has: found tiles of 1 warp groups in role 'compute' of 8 warps}}
        %d = warp.dot %p1, %b, %zero : tensor<64x64xbf16, #warp.wgmma<groups = 1>>, !buffer, tensor<64x64xf32, #warp.wgmma<groups = 1>>
        warp.return
      }
    gpu.return
  }
}

// -----

!buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
#acc = #warp.wgmma<groups = 2>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(8400)
  gpu.func @f() kernel {
    %B = warp.alloc offset(0) : !buffer
    warp.specialize captures(%B : !buffer)
      role @load warps(4) regs(24) {
      ^bb0(%b: !buffer):
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%b: !buffer):
        %zero = arith.constant dense<0.0> : tensor<128x64xf32, #acc>
        %p1 = arith.constant dense<1.0> : tensor<128x64xbf16, #acc>
        %d = warp.dot async %p1, %b, %zero : tensor<128x64xbf16, #acc>, !buffer, tensor<128x64xf32, #acc>
        %h = tile.iota dim 0 : tensor<128x1xi64, #acc>
        // expected-error@+2 {{failed to legalize operation 'warp.dot_wait'}}
        // expected-error@+1 {{expected held elements of 8, 16 or 32 bits, found 'tensor<128x1xi64, #warp.wgmma<groups = 2>>'}}
        %s, %g = warp.dot_wait %d held(%h : tensor<128x1xi64, #acc>) : !warp.pending<tensor<128x64xf32, #acc>>
        warp.return
      }
    gpu.return
  }
}
