// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

// A prefetched copy that no role waits for after the loop.
!p = !warp.pipeline<2>
!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!ring = memref<2x16x16xf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  gpu.func @ahead(%x: memref<?x16xf16>) kernel {
    %b = warp.alloc : !ring
    %p = warp.pipeline : !p
    warp.specialize captures(%p, %b, %x : !p, !ring, memref<?x16xf16>)
      role @load warps(4) regs(24) {
      ^bb0(%p0: !p, %b0: !ring, %x0: memref<?x16xf16>):
        %c0 = arith.constant 0 : index
        %c16 = arith.constant 16 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        // expected-note@+1 {{if this is 0}}
        %n = memref.dim %x0, %c0 : memref<?x16xf16>
        %last = arith.addi %n, %c16 : index
        %r:2 = scf.for %i = %c0 to %last step %c16 iter_args(%s = %z, %ph = %z) -> (i32, i32) {
          warp.producer_acquire %p0[%s, %ph] : !p
          %v = warp.stage %b0[%s] : !ring to !tile
          // expected-error@+1 {{the copy into stage 0 is never waited for by role @compute}}
          warp.copy async %x0[%i, %c0] dims [0, 1] to %v : memref<?x16xf16> to !tile
          warp.producer_commit %p0[%s, %ph] : !p
          %s1 = arith.xori %s, %one : i32
          %ph1 = arith.xori %ph, %s : i32
          scf.yield %s1, %ph1 : i32, i32
        }
        warp.return
      }
      role @compute warps(4) regs(240) {
      ^bb0(%p0: !p, %b0: !ring, %x0: memref<?x16xf16>):
        %c0 = arith.constant 0 : index
        %c16 = arith.constant 16 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %n = memref.dim %x0, %c0 : memref<?x16xf16>
        %r:2 = scf.for %i = %c0 to %n step %c16 iter_args(%s = %z, %ph = %z) -> (i32, i32) {
          warp.consumer_wait %p0[%s, %ph] : !p
          warp.consumer_release %p0[%s, %ph] : !p
          %s1 = arith.xori %s, %one : i32
          %ph1 = arith.xori %ph, %s : i32
          scf.yield %s1, %ph1 : i32, i32
        }
        warp.return
      }
    gpu.return
  }
}
