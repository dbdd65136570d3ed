// Roles that wait for each other, or for a use of a stage that never comes.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

!p = !warp.pipeline<1>
gpu.module @m {
  // Two rings of one stage, filled alternately. The consumer waits for another stage of the first
  // ring before it has released the only stage of the second.
  gpu.func @order() kernel {
    %a = warp.pipeline : !p
    %b = warp.pipeline : !p
    warp.specialize captures(%a, %b : !p, !p)
      role @load warps(4) regs(24) {
      ^bb0(%a0: !p, %b0: !p):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%ph = %z) -> (i32) {
          warp.producer_acquire %a0[%z, %ph] : !p
          warp.producer_commit %a0[%z, %ph] : !p
          // expected-error@+1 {{deadlock: role @load waits until stage 0 is released by role @compute (use 0), which never happens}}
          warp.producer_acquire %b0[%z, %ph] : !p
          warp.producer_commit %b0[%z, %ph] : !p
          %ph1 = arith.xori %ph, %one : i32
          scf.yield %ph1 : i32
        }
        warp.return
      }
      role @compute warps(4) regs(240) {
      ^bb0(%a0: !p, %b0: !p):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        warp.consumer_wait %a0[%z, %z] : !p
        warp.consumer_release %a0[%z, %z] : !p
        %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%ph = %z) -> (i32) {
          %ph1 = arith.xori %ph, %one : i32
          warp.consumer_wait %b0[%z, %ph] : !p
          warp.consumer_wait %a0[%z, %ph1] : !p
          warp.consumer_release %a0[%z, %ph1] : !p
          %early = arith.cmpi eq, %i, %c0 : index
          scf.if %early {
            // expected-note@+1 {{role @compute waits until stage 0 is full (use 2)}}
            warp.consumer_wait %a0[%z, %ph] : !p
            warp.consumer_release %a0[%z, %ph] : !p
          }
          warp.consumer_release %b0[%z, %ph] : !p
          scf.yield %ph1 : i32
        }
        warp.return
      }
    gpu.return
  }
}

// -----

!p = !warp.pipeline<2>
gpu.module @m {
  // The consumer waits once more than the producer fills.
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
