// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

// The consumer waits once more than the producer fills.
!p = !warp.pipeline<2>
gpu.module @m {
  // expected-note@+1 {{if this is 0}}
  gpu.func @once_more(%n: index) kernel {
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
      role @compute warps(4) regs(240) {
      ^bb0(%p0: !p, %n0: index):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %n1 = arith.addi %n0, %c1 : index
        %r:2 = scf.for %i = %c0 to %n1 step %c1 iter_args(%s = %z, %ph = %z) -> (i32, i32) {
          // expected-error@+1 {{deadlock: role @compute waits until stage 0 is full (use 0), which never happens}}
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
