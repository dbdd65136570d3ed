// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

// What it takes more than one iteration to see: roles run against each other,
// for sizes from none to more than twice around the rings.

// A right program: both roles go around a ring of two, %n times.
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

// -----

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
          // expected-error@+1 {{deadlock: role @compute waits until stage 0 is full (round 0), which never happens}}
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

// -----

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
          // expected-error@+2 {{phase is 1, expected 0 in round 0 of stage 2}}
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

// Two rings of one stage, filled in turns. The consumer asks for one more of
// the first while it still holds the only stage of the second.
!p = !warp.pipeline<1>
gpu.module @m {
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
          // expected-error@+1 {{deadlock: role @load waits until stage 0 is released by role @compute (round 0), which never happens}}
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
            // expected-note@+1 {{role @compute waits until stage 0 is full (round 2)}}
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
    // expected-error@+1 {{phase is 0, expected 1 in round 1 of stage 0}}
    warp.producer_acquire %p[%z, %z] : !p
    warp.producer_commit %p[%z, %z] : !p
    gpu.return
  }
}

// -----

// A copy ahead that nobody waits for once the loop ends.
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

// -----

// A vote may come out either way: a stage may not be given back where it says
// so only.
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
          // expected-error@+3 {{waits for the next round of stage 0 without having released this one}}
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

gpu.module @m {
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
        // expected-error@+2 {{turns belong to one role, found role @a and role @b}}
        // expected-note@+1 {{in warp group 0 of role @b}}
        warp.begin_turn %t : !warp.turns<2>
        warp.end_turn %t : !warp.turns<2>
        warp.return
      }
    gpu.return
  }
}
