// The stage and the phase of an op must match the use of the stage.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

// The ring has three stages, but the phase flips after two.
!p = !warp.pipeline<3>
gpu.module @m {
  // expected-note@+1 {{if this is 3}}
  gpu.func @phase(%n: index) kernel {
    %p = warp.pipeline : !p
    warp.specialize captures(%p, %n : !p, index)
      role @load warps(4) regs(24) {
      ^bb0(%p0: !p, %n0: index):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %two = arith.constant 2 : i32
        %r:2 = scf.for %i = %c0 to %n0 step %c1 iter_args(%s = %z, %ph = %z) -> (i32, i32) {
          // expected-error@+2 {{phase is 1, expected 0 in use 0 of stage 2}}
          // expected-note@+1 {{in role @load}}
          warp.producer_acquire %p0[%s, %ph] : !p
          warp.producer_commit %p0[%s, %ph] : !p
          %next = arith.addi %s, %one : i32
          %end = arith.cmpi sgt, %next, %two : i32
          %s1 = arith.select %end, %z, %next : i32
          %flip = arith.cmpi eq, %next, %two : i32
          %flip32 = arith.extui %flip : i1 to i32
          %ph1 = arith.xori %ph, %flip32 : i32
          scf.yield %s1, %ph1 : i32, i32
        }
        warp.return
      }
      role @compute warps(4) regs(240) {
      ^bb0(%p0: !p, %n0: index):
        warp.return
      }
    gpu.return
  }
}

// -----

// The second loop starts at stage 0, wherever the first one ended.
!p = !warp.pipeline<2>
gpu.module @m {
  // expected-note@+1 {{if this is 1}}
  gpu.func @restart(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %p = warp.pipeline : !p
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z, %ph = %z) -> (i32, i32) {
      warp.producer_acquire %p[%s, %ph] : !p
      warp.producer_commit %p[%s, %ph] : !p
      warp.consumer_wait %p[%s, %ph] : !p
      warp.consumer_release %p[%s, %ph] : !p
      %s1 = arith.xori %s, %one : i32
      %ph1 = arith.xori %ph, %s : i32
      scf.yield %s1, %ph1 : i32, i32
    }
    // expected-error@+1 {{phase is 0, expected 1 in use 1 of stage 0}}
    warp.producer_acquire %p[%z, %z] : !p
    warp.producer_commit %p[%z, %z] : !p
    gpu.return
  }
}
