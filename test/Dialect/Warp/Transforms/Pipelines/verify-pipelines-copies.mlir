// A pipeline has as many stages as its buffer, and its copies are asynchronous.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!ring = memref<2x16x16xf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  gpu.func @too_small(%x: memref<?x16xf16>, %i: index, %s: i32) kernel {
    %b = warp.alloc : !ring
    // expected-note@+1 {{the pipeline}}
    %p = warp.pipeline : !warp.pipeline<3>
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<3>
    %v = warp.stage %b[%s] : !ring to !tile
    // expected-error@+1 {{the buffer has 2 stages, but its pipeline has 3}}
    warp.copy async %x[%i, %i] dims [0, 1] to %v : memref<?x16xf16> to !tile
    warp.producer_commit %p[%s, %s] : !warp.pipeline<3>
    gpu.return
  }
}

// -----

!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  gpu.func @plain_copy(%x: memref<?x16xf16>) kernel {
    %b = warp.alloc : !tile
    warp.specialize captures(%b, %x : !tile, memref<?x16xf16>)
      role @a warps(4) regs(24) {
      ^bb0(%b0: !tile, %x0: memref<?x16xf16>):
        %i = arith.constant 0 : index
        // expected-error@+1 {{a copy in role 'a' must be asynchronous: the CTA's threads don't synchronise there}}
        warp.copy %x0[%i, %i] dims [0, 1] to %b0 : memref<?x16xf16> to !tile
        warp.return
      }
    gpu.return
  }
}
