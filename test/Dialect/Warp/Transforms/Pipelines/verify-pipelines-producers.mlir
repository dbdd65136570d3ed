// A pipeline has one producer role.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

gpu.module @m {
  gpu.func @producers() kernel {
    %p = warp.pipeline : !warp.pipeline<1>
    warp.specialize captures(%p : !warp.pipeline<1>)
      role @a warps(4) regs(24) {
      ^bb0(%q: !warp.pipeline<1>):
        %z = arith.constant 0 : i32
        // expected-note@+1 {{acquired here too}}
        warp.producer_acquire %q[%z, %z] : !warp.pipeline<1>
        warp.producer_commit %q[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @b warps(4) regs(24) {
      ^bb0(%q: !warp.pipeline<1>):
        %z = arith.constant 0 : i32
        // expected-error@+1 {{a pipeline must have one producer role, found role 'a' and role 'b'}}
        warp.producer_acquire %q[%z, %z] : !warp.pipeline<1>
        warp.producer_commit %q[%z, %z] : !warp.pipeline<1>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @nobody(%s: i32) kernel {
    %p = warp.pipeline : !warp.pipeline<2>
    // expected-error@+1 {{waits for a pipeline without a producer}}
    warp.consumer_wait %p[%s, %s] : !warp.pipeline<2>
    warp.consumer_release %p[%s, %s] : !warp.pipeline<2>
    gpu.return
  }
}
