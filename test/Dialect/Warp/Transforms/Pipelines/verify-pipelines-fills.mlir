// The acquire, the commit and the copies of a stage are in one block.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

gpu.module @m {
  gpu.func @uncommitted(%s: i32, %s1: i32) kernel {
    %p = warp.pipeline : !warp.pipeline<2>
    // expected-error@+1 {{no commit of the acquired stage follows in this block}}
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    // expected-error@+1 {{no acquire of the committed stage precedes in this block}}
    warp.producer_commit %p[%s1, %s] : !warp.pipeline<2>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @twice(%s: i32) kernel {
    %p = warp.pipeline : !warp.pipeline<2>
    // expected-note@+1 {{acquired here}}
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    // expected-error@+1 {{acquires a stage again before it is committed}}
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    warp.producer_commit %p[%s, %s] : !warp.pipeline<2>
    gpu.return
  }
}

// -----

!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  gpu.func @outside(%x: memref<?x16xf16>, %i: index, %s: i32) kernel {
    %b = warp.alloc : !tile
    %p = warp.pipeline : !warp.pipeline<2>
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    warp.producer_commit %p[%s, %s] : !warp.pipeline<2>
    // expected-error@+1 {{an asynchronous copy must be between the acquire and the commit of a stage}}
    warp.copy async %x[%i, %i] dims [0, 1] to %b : memref<?x16xf16> to !tile
    gpu.return
  }
}
