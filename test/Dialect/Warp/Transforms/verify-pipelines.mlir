// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

!p = !warp.pipeline<2>
!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!ring = memref<2x16x16xf16, #warp.shared<row_bytes = 32>>
#reg = #warp.mma_sync<warps = 1>
!acc = tensor<16x16xf32, #reg>

// A right program: the stage before this one is released under the next dot.
gpu.module @m {
  gpu.func @right(%x: memref<?x16xf16>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %acc = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !ring
    %p = warp.pipeline : !p
    %view = warp.stage %b[%z] : !ring to !tile
    warp.producer_acquire %p[%z, %z] : !p
    warp.copy async %x[%c0, %c0] dims [0, 1] to %view : memref<?x16xf16> to !tile
    warp.producer_commit %p[%z, %z] : !p
    warp.consumer_wait %p[%z, %z] : !p
    %d0 = warp.dot async %view, %view, %acc : !tile, !tile, !acc
    %end:5 = scf.for %i = %c16 to %n step %c16 iter_args(%pending = %d0, %s = %z, %ph = %z, %s1 = %one, %ph1 = %z) -> (!warp.pending<!acc>, i32, i32, i32, i32) {
      warp.producer_acquire %p[%s1, %ph1] : !p
      %next = warp.stage %b[%s1] : !ring to !tile
      warp.copy async %x[%i, %c0] dims [0, 1] to %next : memref<?x16xf16> to !tile
      warp.producer_commit %p[%s1, %ph1] : !p
      warp.consumer_wait %p[%s1, %ph1] : !p
      %d1 = warp.dot async %next, %next, %acc : !tile, !tile, !acc
      %r = warp.dot_wait %pending : !warp.pending<!acc>
      warp.consumer_release %p[%s, %ph] : !p
      %s2 = arith.xori %s1, %one : i32
      %ph2 = arith.xori %ph1, %s1 : i32
      scf.yield %d1, %s1, %ph1, %s2, %ph2 : !warp.pending<!acc>, i32, i32, i32, i32
    }
    %r = warp.dot_wait %end#0 : !warp.pending<!acc>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @uncommitted(%s: i32, %s1: i32) kernel {
    %p = warp.pipeline : !warp.pipeline<2>
    // expected-error@+1 {{no commit of the acquired stage follows in this block}}
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    // expected-error@+1 {{no acquire of the committed stage precedes in this block}}
    warp.producer_commit %p[%s1, %s] : !warp.pipeline<2>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @twice(%s: i32) kernel {
    %p = warp.pipeline : !warp.pipeline<2>
    // expected-note@+1 {{acquired here}}
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    // expected-error@+1 {{acquires a stage again that is not committed}}
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    warp.producer_commit %p[%s, %s] : !warp.pipeline<2>
    gpu.return
  }
}

// -----

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
        // expected-error@+1 {{a pipeline has one producing role, found role 'a' and role 'b'}}
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
    // expected-error@+1 {{waits for a pipeline that nobody fills}}
    warp.consumer_wait %p[%s, %s] : !warp.pipeline<2>
    warp.consumer_release %p[%s, %s] : !warp.pipeline<2>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @keeps(%s: i32, %n: index) kernel {
    %p = warp.pipeline : !warp.pipeline<2>
    scf.for %i = %n to %n step %n {
      // expected-note@+1 {{filled here}}
      warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
      warp.producer_commit %p[%s, %s] : !warp.pipeline<2>
      // expected-error@+1 {{the kernel outside of its roles waits for stages that it never releases, and they are filled again}}
      warp.consumer_wait %p[%s, %s] : !warp.pipeline<2>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @never_waits(%s: i32) kernel {
    %p = warp.pipeline : !warp.pipeline<2>
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    warp.producer_commit %p[%s, %s] : !warp.pipeline<2>
    // expected-error@+1 {{the kernel outside of its roles releases stages that it never waits for}}
    warp.consumer_release %p[%s, %s] : !warp.pipeline<2>
    gpu.return
  }
}

// -----

!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  gpu.func @outside(%x: memref<?x16xf16>, %i: index, %s: i32) kernel {
    %b = warp.alloc : !tile
    %p = warp.pipeline : !warp.pipeline<2>
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    warp.producer_commit %p[%s, %s] : !warp.pipeline<2>
    // expected-error@+1 {{an asynchronous copy must stand between the acquire and the commit of a stage}}
    warp.copy async %x[%i, %i] dims [0, 1] to %b : memref<?x16xf16> to !tile
    gpu.return
  }
}

// -----

!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!ring = memref<2x16x16xf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  gpu.func @too_small(%x: memref<?x16xf16>, %i: index, %s: i32) kernel {
    %b = warp.alloc : !ring
    // expected-note@+1 {{the pipeline}}
    %p = warp.pipeline : !warp.pipeline<3>
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<3>
    %v = warp.stage %b[%s] : !ring to !tile
    // expected-error@+1 {{the buffer has 2 stages, its pipeline 3}}
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
        // expected-error@+1 {{a copy in role 'a' must be asynchronous: the CTA's threads don't meet there}}
        warp.copy %x0[%i, %i] dims [0, 1] to %b0 : memref<?x16xf16> to !tile
        warp.return
      }
    gpu.return
  }
}

// -----

!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!ring = memref<2x16x16xf16, #warp.shared<row_bytes = 32>>
!acc = tensor<16x16xf32, #tile.reg>
gpu.module @m {
  gpu.func @reads(%x: memref<?x16xf16>, %i: index, %s: i32, %acc: !acc, %c: i1) kernel {
    %b = warp.alloc : !ring
    %p = warp.pipeline : !warp.pipeline<2>
    %v = warp.stage %b[%s] : !ring to !tile
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    warp.copy async %x[%i, %i] dims [0, 1] to %v : memref<?x16xf16> to !tile
    warp.producer_commit %p[%s, %s] : !warp.pipeline<2>
    warp.consumer_wait %p[%s, %s] : !warp.pipeline<2>
    // expected-note@+1 {{the dot}}
    %d = warp.dot async %v, %v, %acc : !tile, !tile, !acc
    // expected-error@+2 {{releases a stage that an asynchronous dot reads, before the dot is waited for}}
    // expected-note@+1 {{released here}}
    warp.consumer_release %p[%s, %s] : !warp.pipeline<2>
    %r = warp.dot_wait %d : !warp.pending<!acc>
    scf.if %c {
      // expected-error@+1 {{reads a stage that is released}}
      %t = warp.local_load %v : !tile to tensor<16x16xf16, #tile.reg>
    }
    gpu.return
  }
}

// -----

!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!ring = memref<2x16x16xf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  gpu.func @not_waited(%x: memref<?x16xf16>, %i: index, %s: i32) kernel {
    %b = warp.alloc : !ring
    // expected-note@+1 {{the pipeline}}
    %p = warp.pipeline : !warp.pipeline<2>
    %v = warp.stage %b[%s] : !ring to !tile
    warp.producer_acquire %p[%s, %s] : !warp.pipeline<2>
    warp.copy async %x[%i, %i] dims [0, 1] to %v : memref<?x16xf16> to !tile
    warp.producer_commit %p[%s, %s] : !warp.pipeline<2>
    // expected-error@+1 {{the kernel outside of its roles reads a buffer and never waits for the pipeline that fills it}}
    %t = warp.local_load %v : !tile to tensor<16x16xf16, #tile.reg>
    gpu.return
  }
}

// -----

!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!acc = tensor<16x16xf32, #tile.reg>
gpu.module @m {
  gpu.func @dropped(%b: !tile, %acc: !acc, %n: index) kernel {
    // expected-error@+1 {{the result of an asynchronous dot is never waited for}}
    %d = warp.dot async %b, %b, %acc : !tile, !tile, !acc
    %end = scf.for %i = %n to %n step %n iter_args(%pending = %d) -> (!warp.pending<!acc>) {
      // expected-error@+1 {{the result of an asynchronous dot is never waited for}}
      %e = warp.dot async %b, %b, %acc : !tile, !tile, !acc
      scf.yield %e : !warp.pending<!acc>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @turn(%t: !warp.turns<2>) kernel {
    // expected-error@+1 {{no end of the turn follows in this block}}
    warp.begin_turn %t : !warp.turns<2>
    warp.begin_turn %t : !warp.turns<2>
    warp.end_turn %t : !warp.turns<2>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @work(%m: !warp.mailbox<2>, %s: i32) kernel {
    // expected-error@+1 {{work is fetched and never finished}}
    %w = warp.fetch_work : index
    // expected-error@+1 {{sends to a slot whose stage is not acquired here}}
    warp.send %w to %m[%s] : !warp.mailbox<2>
    gpu.return
  }
}
