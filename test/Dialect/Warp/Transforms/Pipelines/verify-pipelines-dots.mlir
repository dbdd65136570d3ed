// A dot is waited for before its stages are released, and its result is waited for.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!ring = memref<2x16x16xf16, #warp.shared<row_bytes = 32>>
!acc = tensor<16x16xf32, #tile.reg>
gpu.module @m {
  gpu.func @reads(%x: memref<?x16xf16>, %i: index, %s: i32, %acc: !acc, %c: i1) kernel {
    %b = warp.alloc : !ring
    %p = warp.pipeline : !warp.pipeline<2>
    %v = warp.stage %b[%s] : !ring to !tile
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    warp.copy async %x[%i, %i] dims [0, 1] to %v : memref<?x16xf16> to !tile
    warp.producer_commit %p[%s, %s] : !warp.pipeline<2>
    warp.consumer_wait %p[%s, %s] : !warp.pipeline<2>
    // expected-note@+1 {{the dot}}
    %d = warp.dot async %v, %v, %acc : !tile, !tile, !acc
    // expected-error@+2 {{releases a stage that an outstanding dot reads: expected a wait for the dot before the release}}
    // expected-note@+1 {{released here}}
    warp.consumer_release %p[%s, %s] : !warp.pipeline<2>
    %r = warp.dot_wait %d : !warp.pending<!acc>
    scf.if %c {
      // expected-error@+1 {{reads a stage that has been released}}
      %t = warp.local_load %v : !tile to tensor<16x16xf16, #tile.reg>
    }
    gpu.return
  }
}

// -----

!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!acc = tensor<16x16xf32, #tile.reg>
gpu.module @m {
  gpu.func @dropped(%b: !tile, %acc: !acc, %n: index) kernel {
    // expected-error@+1 {{the result of an asynchronous dot is never waited for}}
    %d = warp.dot async %b, %b, %acc : !tile, !tile, !acc
    %end = scf.for %i = %n to %n step %n iter_args(%pending = %d) -> (!warp.pending<!acc>) {
      // expected-error@+1 {{the result of an asynchronous dot is never waited for}}
      %e = warp.dot async %b, %b, %acc : !tile, !tile, !acc
      scf.yield %e : !warp.pending<!acc>
    }
    gpu.return
  }
}
