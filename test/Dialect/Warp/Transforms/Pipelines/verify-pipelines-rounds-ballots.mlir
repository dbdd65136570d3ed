// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

// A ballot may have either result: a release must not depend on it.
!p = !warp.pipeline<1>
!rows = tensor<128x1xi32, #tile.reg>
gpu.module @m {
  gpu.func @voted() kernel {
    %p = warp.pipeline : !p
    warp.specialize captures(%p : !p)
      role @load warps(4) regs(24) {
      ^bb0(%p0: !p):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%ph = %z) -> (i32) {
          warp.producer_acquire %p0[%z, %ph] : !p
          warp.producer_commit %p0[%z, %ph] : !p
          %ph1 = arith.xori %ph, %one : i32
          scf.yield %ph1 : i32
        }
        warp.return
      }
      role @compute warps(4) regs(240) {
      ^bb0(%p0: !p):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %seven = arith.constant dense<7> : !rows
        %rows = tile.iota dim 0 : !rows
        %asks = arith.cmpi eq, %rows, %seven : !rows
        %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%ph = %z) -> (i32) {
          // expected-error@+3 {{waits for the next use of stage 0 without having released the current one}}
          // expected-note@+2 {{waited for here}}
          // expected-note@+1 {{in role @compute}}
          warp.consumer_wait %p0[%z, %ph] : !p
          // expected-note@+1 {{if this is 0}}
          %any = warp.any %asks : tensor<128x1xi1, #tile.reg>
          scf.if %any {
            warp.consumer_release %p0[%z, %ph] : !p
          }
          %ph1 = arith.xori %ph, %one : i32
          scf.yield %ph1 : i32
        }
        warp.return
      }
    gpu.return
  }
}
