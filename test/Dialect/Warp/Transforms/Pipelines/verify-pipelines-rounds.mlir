// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

// Errors that take more than one iteration to show: the roles are simulated for sizes from zero to
// more than two cycles of the rings.

// A correct program: both roles use a ring of two stages %n times.
!p = !warp.pipeline<2>
gpu.module @m {
  gpu.func @right(%n: index) kernel {
    %p = warp.pipeline : !p
    warp.specialize captures(%p, %n : !p, index)
      role @load warps(4) regs(24) {
      ^bb0(%p0: !p, %n0: index):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %r:2 = scf.for %i = %c0 to %n0 step %c1 iter_args(%s = %z, %ph = %z) -> (i32, i32) {
          warp.producer_acquire %p0[%s, %ph] : !p
          warp.producer_commit %p0[%s, %ph] : !p
          %s1 = arith.xori %s, %one : i32
          %ph1 = arith.xori %ph, %s : i32
          scf.yield %s1, %ph1 : i32, i32
        }
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%p0: !p, %n0: index):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %r:2 = scf.for %i = %c0 to %n0 step %c1 iter_args(%s = %z, %ph = %z) -> (i32, i32) {
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
