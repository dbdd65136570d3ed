// A stage that is waited for is released, and vice versa.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

gpu.module @m {
  gpu.func @keeps(%s: i32, %n: index) kernel {
    %p = warp.pipeline : !warp.pipeline<2>
    scf.for %i = %n to %n step %n {
      // expected-note@+1 {{filled here}}
      warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
      warp.producer_commit %p[%s, %s] : !warp.pipeline<2>
      // expected-error@+1 {{the kernel outside of its roles waits for stages that it never releases, and they are filled again}}
      warp.consumer_wait %p[%s, %s] : !warp.pipeline<2>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @never_waits(%s: i32) kernel {
    %p = warp.pipeline : !warp.pipeline<2>
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    warp.producer_commit %p[%s, %s] : !warp.pipeline<2>
    // expected-error@+1 {{the kernel outside of its roles releases stages that it never waits for}}
    warp.consumer_release %p[%s, %s] : !warp.pipeline<2>
    gpu.return
  }
}

// -----

!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!ring = memref<2x16x16xf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  gpu.func @not_waited(%x: memref<?x16xf16>, %i: index, %s: i32) kernel {
    %b = warp.alloc : !ring
    // expected-note@+1 {{the pipeline}}
    %p = warp.pipeline : !warp.pipeline<2>
    %v = warp.stage %b[%s] : !ring to !tile
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    warp.copy async %x[%i, %i] dims [0, 1] to %v : memref<?x16xf16> to !tile
    warp.producer_commit %p[%s, %s] : !warp.pipeline<2>
    // expected-error@+1 {{the kernel outside of its roles reads a buffer and never waits for the pipeline that fills it}}
    %t = warp.local_load %v : !tile to tensor<16x16xf16, #tile.reg>
    gpu.return
  }
}
