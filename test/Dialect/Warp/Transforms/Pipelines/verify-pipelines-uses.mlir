// Errors that take more than one use of a stage to show: the roles are simulated for sizes from
// zero to more than two cycles of the rings.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

!p = !warp.pipeline<2>
!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!ring = memref<2x16x16xf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  // A correct program: both roles use a ring of two stages %n times.
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

  // A prefetched copy that no role waits for after the loop.
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

  // The second loop starts at stage 0, wherever the first one ended.
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

  // Ping-pong sections of the warp groups of one role.
  gpu.func @turns_of_two_roles() kernel {
    %T = warp.turns : !warp.turns<2>
    warp.specialize captures(%T : !warp.turns<2>)
      role @a warps(8) regs(120) {
      ^bb0(%t: !warp.turns<2>):
        warp.begin_turn %t : !warp.turns<2>
        warp.end_turn %t : !warp.turns<2>
        warp.return
      }
      role @b warps(8) regs(120) {
      ^bb0(%t: !warp.turns<2>):
        // expected-error@+2 {{a ping-pong order must belong to one role, found role @a and role @b}}
        // expected-note@+1 {{in warp group 0 of role @b}}
        warp.begin_turn %t : !warp.turns<2>
        warp.end_turn %t : !warp.turns<2>
        warp.return
      }
    gpu.return
  }
}

// -----

!p = !warp.pipeline<1>
!rows = tensor<128x1xi32, #tile.reg>
gpu.module @m {
  // A ballot may have either result: a release must not depend on it.
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

// -----

!p = !warp.pipeline<3>
gpu.module @m {
  // The phase of an op must match the use of the stage. The ring has three stages, but the phase
  // flips after two.
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
