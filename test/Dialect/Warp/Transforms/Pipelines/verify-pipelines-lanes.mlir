// An arrival is an error while lanes other than the arriving one may still access the stage.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

// The lanes do not synchronise.
!vector = memref<1x32xf32, #warp.shared<row_bytes = 128>>
!ring = memref<2x1x32xf32, #warp.shared<row_bytes = 128>>
!memory = memref<?x32xf32>
!v = tensor<1x32xf32, #warp.wgmma<groups = 1>>
!p = !warp.pipeline<2>
gpu.module @m {
  gpu.func @release(%g: !memory) kernel {
    %r = warp.alloc : !ring
    %p = warp.pipeline : !p
    warp.specialize captures(%g, %r, %p : !memory, !ring, !p)
    role @load warps(4) regs(24) {
    ^bb0(%m: !memory, %b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %c0 = arith.constant 0 : index
      %t = warp.stage %b[%z] : !ring to !vector
      warp.producer_acquire %q[%z, %z] : !p
      warp.copy async %m[%c0, %c0] dims [0, 1] to %t : !memory to !vector
      warp.producer_commit %q[%z, %z] : !p
      warp.return
    }
    role @compute warps(4) regs(240) {
    ^bb0(%m: !memory, %b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %t = warp.stage %b[%z] : !ring to !vector
      warp.consumer_wait %q[%z, %z] : !p
      // expected-note@+1 {{read here}}
      %x = warp.local_load %t : !vector to !v
      // expected-error@+2 {{releases stage 0 while lanes of the warp may still read it: expected 'warp.sync_lanes' in between}}
      // expected-note@+1 {{in role @compute}}
      warp.consumer_release %q[%z, %z] : !p
      warp.return
    }
    gpu.return
  }
}

// -----

// They synchronise.
!vector = memref<1x32xf32, #warp.shared<row_bytes = 128>>
!ring = memref<2x1x32xf32, #warp.shared<row_bytes = 128>>
!memory = memref<?x32xf32>
!v = tensor<1x32xf32, #warp.wgmma<groups = 1>>
!p = !warp.pipeline<2>
gpu.module @m {
  gpu.func @synchronized(%g: !memory) kernel {
    %r = warp.alloc : !ring
    %p = warp.pipeline : !p
    warp.specialize captures(%g, %r, %p : !memory, !ring, !p)
    role @load warps(4) regs(24) {
    ^bb0(%m: !memory, %b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %c0 = arith.constant 0 : index
      %t = warp.stage %b[%z] : !ring to !vector
      warp.producer_acquire %q[%z, %z] : !p
      warp.copy async %m[%c0, %c0] dims [0, 1] to %t : !memory to !vector
      warp.producer_commit %q[%z, %z] : !p
      warp.return
    }
    role @compute warps(4) regs(240) {
    ^bb0(%m: !memory, %b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %t = warp.stage %b[%z] : !ring to !vector
      warp.consumer_wait %q[%z, %z] : !p
      %x = warp.local_load %t : !vector to !v
      warp.sync_lanes
      warp.consumer_release %q[%z, %z] : !p
      warp.return
    }
    gpu.return
  }
}

// -----

// They synchronise before the load.
!vector = memref<1x32xf32, #warp.shared<row_bytes = 128>>
!ring = memref<2x1x32xf32, #warp.shared<row_bytes = 128>>
!memory = memref<?x32xf32>
!v = tensor<1x32xf32, #warp.wgmma<groups = 1>>
!p = !warp.pipeline<2>
gpu.module @m {
  gpu.func @too_early(%g: !memory) kernel {
    %r = warp.alloc : !ring
    %p = warp.pipeline : !p
    warp.specialize captures(%g, %r, %p : !memory, !ring, !p)
    role @load warps(4) regs(24) {
    ^bb0(%m: !memory, %b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %c0 = arith.constant 0 : index
      %t = warp.stage %b[%z] : !ring to !vector
      warp.producer_acquire %q[%z, %z] : !p
      warp.copy async %m[%c0, %c0] dims [0, 1] to %t : !memory to !vector
      warp.producer_commit %q[%z, %z] : !p
      warp.return
    }
    role @compute warps(4) regs(240) {
    ^bb0(%m: !memory, %b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %t = warp.stage %b[%z] : !ring to !vector
      warp.consumer_wait %q[%z, %z] : !p
      warp.sync_lanes
      // expected-note@+1 {{read here}}
      %x = warp.local_load %t : !vector to !v
      // expected-error@+2 {{releases stage 0 while lanes of the warp may still read it: expected 'warp.sync_lanes' in between}}
      // expected-note@+1 {{in role @compute}}
      warp.consumer_release %q[%z, %z] : !p
      warp.return
    }
    gpu.return
  }
}

// -----

// They synchronise on one of two paths.
!vector = memref<1x32xf32, #warp.shared<row_bytes = 128>>
!ring = memref<2x1x32xf32, #warp.shared<row_bytes = 128>>
!memory = memref<?x32xf32>
!v = tensor<1x32xf32, #warp.wgmma<groups = 1>>
!p = !warp.pipeline<2>
gpu.module @m {
  gpu.func @one_path(%g: !memory,
                     // expected-note@+1 {{if this is 0}}
                     %yes: i1) kernel {
    %r = warp.alloc : !ring
    %p = warp.pipeline : !p
    warp.specialize captures(%g, %r, %p, %yes : !memory, !ring, !p, i1)
    role @load warps(4) regs(24) {
    ^bb0(%m: !memory, %b: !ring, %q: !p, %c: i1):
      %z = arith.constant 0 : i32
      %c0 = arith.constant 0 : index
      %t = warp.stage %b[%z] : !ring to !vector
      warp.producer_acquire %q[%z, %z] : !p
      warp.copy async %m[%c0, %c0] dims [0, 1] to %t : !memory to !vector
      warp.producer_commit %q[%z, %z] : !p
      warp.return
    }
    role @compute warps(4) regs(240) {
    ^bb0(%m: !memory, %b: !ring, %q: !p, %c: i1):
      %z = arith.constant 0 : i32
      %t = warp.stage %b[%z] : !ring to !vector
      warp.consumer_wait %q[%z, %z] : !p
      // expected-note@+1 {{read here}}
      %x = warp.local_load %t : !vector to !v
      scf.if %c {
        warp.sync_lanes
      }
      // expected-error@+2 {{releases stage 0 while lanes of the warp may still read it: expected 'warp.sync_lanes' in between}}
      // expected-note@+1 {{in role @compute}}
      warp.consumer_release %q[%z, %z] : !p
      warp.return
    }
    gpu.return
  }
}

// -----

// A barrier of more threads suffices.
!vector = memref<1x32xf32, #warp.shared<row_bytes = 128>>
!ring = memref<2x1x32xf32, #warp.shared<row_bytes = 128>>
!memory = memref<?x32xf32>
!v = tensor<1x32xf32, #warp.wgmma<groups = 1>>
!p = !warp.pipeline<2>
gpu.module @m {
  gpu.func @ping_pong(%g: !memory) kernel {
    %r = warp.alloc : !ring
    %p = warp.pipeline : !p
    warp.specialize captures(%g, %r, %p : !memory, !ring, !p)
    role @load warps(4) regs(24) {
    ^bb0(%m: !memory, %b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %c0 = arith.constant 0 : index
      %t = warp.stage %b[%z] : !ring to !vector
      warp.producer_acquire %q[%z, %z] : !p
      warp.copy async %m[%c0, %c0] dims [0, 1] to %t : !memory to !vector
      warp.producer_commit %q[%z, %z] : !p
      warp.return
    }
    role @compute warps(4) regs(240) {
    ^bb0(%m: !memory, %b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %t = warp.stage %b[%z] : !ring to !vector
      warp.consumer_wait %q[%z, %z] : !p
      %x = warp.local_load %t : !vector to !v
      %turns = warp.turns : !warp.turns<1>
      warp.begin_turn %turns : !warp.turns<1>
      warp.end_turn %turns : !warp.turns<1>
      warp.consumer_release %q[%z, %z] : !p
      warp.return
    }
    gpu.return
  }
}

// -----

// Stores of the other lanes.
!tile = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!ring = memref<1x64x32xbf16, #warp.shared<row_bytes = 64>>
!x = tensor<64x32xbf16, #warp.wgmma<groups = 1>>
!s = tensor<64x64xf32, #warp.wgmma<groups = 1>>
!p = !warp.pipeline<1>
gpu.module @m {
  gpu.func @commit() kernel {
    %r = warp.alloc : !ring
    %p = warp.pipeline : !p
    warp.specialize captures(%r, %p : !ring, !p)
    role @fill warps(4) regs(240) {
    ^bb0(%b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %x = arith.constant dense<1.0> : !x
      %t = warp.stage %b[%z] : !ring to !tile
      warp.producer_acquire %q[%z, %z] : !p
      // expected-note@+1 {{written here}}
      warp.local_store %x to %t : !x, !tile
      // expected-error@+2 {{commits stage 0 while lanes of the warp may still write it: expected 'warp.sync_lanes' in between}}
      // expected-note@+1 {{in role @fill}}
      warp.producer_commit %q[%z, %z] : !p
      warp.return
    }
    role @read warps(4) regs(240) {
    ^bb0(%b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %zero = arith.constant dense<0.0> : !s
      %t = warp.stage %b[%z] : !ring to !tile
      warp.consumer_wait %q[%z, %z] : !p
      %s = warp.dot %t, %t, %zero transpose_b : !tile, !tile, !s
      warp.consumer_release %q[%z, %z] : !p
      warp.return
    }
    gpu.return
  }
}

// -----

// An MMA unit reads them.
!tile = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!ring = memref<1x64x32xbf16, #warp.shared<row_bytes = 64>>
!x = tensor<64x32xbf16, #warp.wgmma<groups = 1>>
!s = tensor<64x64xf32, #warp.wgmma<groups = 1>>
!p = !warp.pipeline<1>
gpu.module @m {
  gpu.func @no_fence() kernel {
    %r = warp.alloc : !ring
    %p = warp.pipeline : !p
    warp.specialize captures(%r, %p : !ring, !p)
    role @fill warps(4) regs(240) {
    ^bb0(%b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %x = arith.constant dense<1.0> : !x
      %t = warp.stage %b[%z] : !ring to !tile
      warp.producer_acquire %q[%z, %z] : !p
      // expected-note@+1 {{stored here}}
      warp.local_store %x to %t : !x, !tile
      warp.sync_lanes
      warp.producer_commit %q[%z, %z] : !p
      warp.return
    }
    role @read warps(4) regs(240) {
    ^bb0(%b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %zero = arith.constant dense<0.0> : !s
      %t = warp.stage %b[%z] : !ring to !tile
      warp.consumer_wait %q[%z, %z] : !p
      // expected-error@+2 {{reads a store that no 'warp.fence_stores' has made visible}}
      // expected-note@+1 {{in role @read}}
      %s = warp.dot %t, %t, %zero transpose_b : !tile, !tile, !s
      warp.consumer_release %q[%z, %z] : !p
      warp.return
    }
    gpu.return
  }
}

// -----

!tile = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!ring = memref<1x64x32xbf16, #warp.shared<row_bytes = 64>>
!x = tensor<64x32xbf16, #warp.wgmma<groups = 1>>
!s = tensor<64x64xf32, #warp.wgmma<groups = 1>>
!p = !warp.pipeline<1>
gpu.module @m {
  gpu.func @fenced() kernel {
    %r = warp.alloc : !ring
    %p = warp.pipeline : !p
    warp.specialize captures(%r, %p : !ring, !p)
    role @fill warps(4) regs(240) {
    ^bb0(%b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %x = arith.constant dense<1.0> : !x
      %t = warp.stage %b[%z] : !ring to !tile
      warp.producer_acquire %q[%z, %z] : !p
      warp.local_store %x to %t : !x, !tile
      warp.sync_lanes async_proxy
      warp.producer_commit %q[%z, %z] : !p
      warp.return
    }
    role @read warps(4) regs(240) {
    ^bb0(%b: !ring, %q: !p):
      %z = arith.constant 0 : i32
      %zero = arith.constant dense<0.0> : !s
      %t = warp.stage %b[%z] : !ring to !tile
      warp.consumer_wait %q[%z, %z] : !p
      %s = warp.dot %t, %t, %zero transpose_b : !tile, !tile, !s
      warp.consumer_release %q[%z, %z] : !p
      warp.return
    }
    gpu.return
  }
}

// -----

// Tensor memory needs its own fences.
!s = memref<128x64xf32, #warp.tmem>
!score = tensor<128x64xf32, #warp.thread_rows>
!p = !warp.pipeline<1>
gpu.module @m {
  gpu.func @tensor_loads() kernel {
    %s = warp.tmem_alloc column(0) : !s
    %p = warp.pipeline : !p
    %d = warp.pipeline : !p
    warp.specialize captures(%s, %p, %d : !s, !p, !p)
    role @one warps(4) regs(240) {
    ^bb0(%m: !s, %q: !p, %e: !p):
      %z = arith.constant 0 : i32
      %x = arith.constant dense<1.0> : !score
      warp.producer_acquire %q[%z, %z] : !p
      warp.tmem_store %x to %m : !score, !s
      warp.sync_lanes tmem_stores
      warp.producer_commit %q[%z, %z] : !p
      warp.return
    }
    role @two warps(4) regs(240) {
    ^bb0(%m: !s, %q: !p, %e: !p):
      %z = arith.constant 0 : i32
      warp.consumer_wait %q[%z, %z] : !p
      // expected-note@+1 {{read here}}
      %y = warp.tmem_load %m : !s to !score
      warp.sync_lanes
      // expected-error@+2 {{releases stage 0 while lanes of the warp may still read tensor memory: expected 'warp.sync_lanes tmem_loads' in between}}
      // expected-note@+1 {{in role @two}}
      warp.consumer_release %q[%z, %z] : !p
      warp.return
    }
    gpu.return
  }
}

// -----

!s = memref<128x64xf32, #warp.tmem>
!score = tensor<128x64xf32, #warp.thread_rows>
!p = !warp.pipeline<1>
gpu.module @m {
  gpu.func @tensor_stores() kernel {
    %s = warp.tmem_alloc column(0) : !s
    %p = warp.pipeline : !p
    %d = warp.pipeline : !p
    warp.specialize captures(%s, %p, %d : !s, !p, !p)
    role @one warps(4) regs(240) {
    ^bb0(%m: !s, %q: !p, %e: !p):
      %z = arith.constant 0 : i32
      %x = arith.constant dense<1.0> : !score
      warp.producer_acquire %q[%z, %z] : !p
      // expected-note@+1 {{written here}}
      warp.tmem_store %x to %m : !score, !s
      warp.sync_lanes tmem_loads
      // expected-error@+2 {{commits stage 0 while lanes of the warp may still write tensor memory: expected 'warp.sync_lanes tmem_stores' in between}}
      // expected-note@+1 {{in role @one}}
      warp.producer_commit %q[%z, %z] : !p
      warp.return
    }
    role @two warps(4) regs(240) {
    ^bb0(%m: !s, %q: !p, %e: !p):
      %z = arith.constant 0 : i32
      warp.consumer_wait %q[%z, %z] : !p
      %y = warp.tmem_load %m : !s to !score
      warp.sync_lanes tmem_loads
      warp.consumer_release %q[%z, %z] : !p
      warp.return
    }
    gpu.return
  }
}
