// A consumer may store tiles to a stage only if no other agent may still read these rows: the warp
// groups of a role read only their own rows of a dot's first operand, and all rows of the second
// one.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sync-lanes,warp-verify-pipelines)))'

!memory = memref<?x64xbf16, strided<[?, 1]>>
!tile = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!x = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!s = tensor<128x128xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  gpu.func @first_operand(%g: !memory) kernel {
    %vs = warp.alloc : !ring
    %p = warp.pipeline : !warp.pipeline<1>
    warp.specialize captures(%g, %vs, %p : !memory, !ring, !warp.pipeline<1>)
    role @load warps(4) regs(24) {
    ^bb0(%m: !memory, %b: !ring, %q: !warp.pipeline<1>):
      %z = arith.constant 0 : i32
      %c0 = arith.constant 0 : index
      warp.producer_acquire %q[%z, %z] : !warp.pipeline<1>
      %v = warp.stage %b[%z] : !ring to !tile
      warp.copy async %m[%c0, %c0] dims [0, 1] to %v : !memory to !tile
      warp.producer_commit %q[%z, %z] : !warp.pipeline<1>
      warp.return
    }
    role @compute warps(8) regs(240) {
    ^bb0(%m: !memory, %b: !ring, %q: !warp.pipeline<1>):
      %z = arith.constant 0 : i32
      %zero = arith.constant dense<0.0> : !s
      %x = arith.constant dense<0.0> : !x
      %v = warp.stage %b[%z] : !ring to !tile
      %ones = warp.ones : !tile
      warp.consumer_wait %q[%z, %z] : !warp.pipeline<1>
      %s = warp.dot %v, %ones, %zero transpose_b : !tile, !tile, !s
      warp.local_store %x to %v : !x, !tile
      warp.consumer_release %q[%z, %z] : !warp.pipeline<1>
      warp.return
    }
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!tile = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!x = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!s = tensor<128x128xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  gpu.func @second_operand(%g: !memory) kernel {
    %vs = warp.alloc : !ring
    %p = warp.pipeline : !warp.pipeline<1>
    warp.specialize captures(%g, %vs, %p : !memory, !ring, !warp.pipeline<1>)
    role @load warps(4) regs(24) {
    ^bb0(%m: !memory, %b: !ring, %q: !warp.pipeline<1>):
      %z = arith.constant 0 : i32
      %c0 = arith.constant 0 : index
      warp.producer_acquire %q[%z, %z] : !warp.pipeline<1>
      %v = warp.stage %b[%z] : !ring to !tile
      warp.copy async %m[%c0, %c0] dims [0, 1] to %v : !memory to !tile
      warp.producer_commit %q[%z, %z] : !warp.pipeline<1>
      warp.return
    }
    role @compute warps(8) regs(240) {
    ^bb0(%m: !memory, %b: !ring, %q: !warp.pipeline<1>):
      %z = arith.constant 0 : i32
      %zero = arith.constant dense<0.0> : !s
      %x = arith.constant dense<0.0> : !x
      %v = warp.stage %b[%z] : !ring to !tile
      %ones = warp.ones : !tile
      warp.consumer_wait %q[%z, %z] : !warp.pipeline<1>
      // expected-note@+2 {{in warp group 1 of role @compute}}
      // expected-note@+1 {{read here}}
      %s = warp.dot %ones, %v, %zero transpose_b : !tile, !tile, !s
      // expected-error@+1 {{stores to a stage that warp group 1 of role @compute may still read}}
      warp.local_store %x to %v : !x, !tile
      warp.consumer_release %q[%z, %z] : !warp.pipeline<1>
      warp.return
    }
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!tile = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<1x64x64xbf16, #warp.shared<row_bytes = 128>>
!x = tensor<64x64xbf16, #warp.wgmma<groups = 1>>
!s = tensor<64x64xf32, #warp.wgmma<groups = 1>>
gpu.module @m {
  gpu.func @another_role(%g: !memory) kernel {
    %vs = warp.alloc : !ring
    %p = warp.pipeline : !warp.pipeline<1>
    warp.specialize captures(%g, %vs, %p : !memory, !ring, !warp.pipeline<1>)
    role @load warps(4) regs(24) {
    ^bb0(%m: !memory, %b: !ring, %q: !warp.pipeline<1>):
      %z = arith.constant 0 : i32
      %c0 = arith.constant 0 : index
      warp.producer_acquire %q[%z, %z] : !warp.pipeline<1>
      %v = warp.stage %b[%z] : !ring to !tile
      warp.copy async %m[%c0, %c0] dims [0, 1] to %v : !memory to !tile
      warp.producer_commit %q[%z, %z] : !warp.pipeline<1>
      warp.return
    }
    role @store warps(4) regs(240) {
    ^bb0(%m: !memory, %b: !ring, %q: !warp.pipeline<1>):
      %z = arith.constant 0 : i32
      %x = arith.constant dense<0.0> : !x
      %v = warp.stage %b[%z] : !ring to !tile
      warp.consumer_wait %q[%z, %z] : !warp.pipeline<1>
      // expected-error@+1 {{stores to a stage that role @read may still read}}
      warp.local_store %x to %v : !x, !tile
      warp.consumer_release %q[%z, %z] : !warp.pipeline<1>
      warp.return
    }
    role @read warps(4) regs(240) {
    ^bb0(%m: !memory, %b: !ring, %q: !warp.pipeline<1>):
      %z = arith.constant 0 : i32
      %v = warp.stage %b[%z] : !ring to !tile
      warp.consumer_wait %q[%z, %z] : !warp.pipeline<1>
      // expected-note@+2 {{in role @read}}
      // expected-note@+1 {{read here}}
      %x = warp.local_load %v : !tile to !x
      warp.consumer_release %q[%z, %z] : !warp.pipeline<1>
      warp.return
    }
    gpu.return
  }
}
