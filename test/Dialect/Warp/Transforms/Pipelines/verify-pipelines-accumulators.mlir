// Outstanding dots that add to one accumulator: each keeps its stages until a later dot or a wait
// completes it.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

!memory = memref<?x64xbf16, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!as = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #warp.wgmma<groups = 1>>
!sum = !warp.pending<!acc>
!p = !warp.pipeline<2>
gpu.module @m {
  // Correct: the stages of the previous iteration's dot are released after this iteration's dot is
  // issued.
  gpu.func @right(%A: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : !acc
    %begin = warp.begin_sum %zero : !acc
    %ring = warp.alloc : !as
    %p = warp.pipeline : !p
    warp.producer_acquire %p[%z, %z] : !p
    %t0 = warp.stage %ring[%z] : !as to !a
    warp.copy async %A[%c0, %c0] dims [0, 1] to %t0 : !memory to !a
    warp.producer_commit %p[%z, %z] : !p
    warp.consumer_wait %p[%z, %z] : !p
    %p0 = warp.dot async "c" %t0, %t0, %begin : !a, !a, !sum
    %sum, %s, %f, %s1, %f1 = scf.for %i = %c1 to %n step %c1 iter_args(%d = %p0, %stage = %one, %phase = %z, %last = %z, %then = %z) -> (!sum, i32, i32, i32, i32) {
      warp.producer_acquire %p[%stage, %phase] : !p
      %t = warp.stage %ring[%stage] : !as to !a
      warp.copy async %A[%c0, %i] dims [0, 1] to %t : !memory to !a
      warp.producer_commit %p[%stage, %phase] : !p
      warp.consumer_wait %p[%stage, %phase] : !p
      %next = warp.dot async "c" %t, %t, %d : !a, !a, !sum
      warp.await_reads %d : !sum
      warp.consumer_release %p[%last, %then] : !p
      %other = arith.xori %stage, %one : i32
      %turned = arith.xori %phase, %stage : i32
      scf.yield %next, %other, %turned, %stage, %phase : !sum, i32, i32, i32, i32
    }
    %tile = warp.dot_wait %sum : !sum
    warp.consumer_release %p[%s1, %f1] : !p
    gpu.return
  }

  // `await_reads` does not complete a dot.
  gpu.func @await_reads(%A: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : !acc
    %begin = warp.begin_sum %zero : !acc
    %ring = warp.alloc : !as
    %p = warp.pipeline : !p
    warp.producer_acquire %p[%z, %z] : !p
    %t0 = warp.stage %ring[%z] : !as to !a
    warp.copy async %A[%c0, %c0] dims [0, 1] to %t0 : !memory to !a
    warp.producer_commit %p[%z, %z] : !p
    warp.consumer_wait %p[%z, %z] : !p
    // expected-error @+1 {{the result of an asynchronous dot is never waited for}}
    %p0 = warp.dot async "c" %t0, %t0, %begin : !a, !a, !sum
    %sum, %s, %f, %s1, %f1 = scf.for %i = %c1 to %n step %c1 iter_args(%d = %p0, %stage = %one, %phase = %z, %last = %z, %then = %z) -> (!sum, i32, i32, i32, i32) {
      warp.producer_acquire %p[%stage, %phase] : !p
      %t = warp.stage %ring[%stage] : !as to !a
      warp.copy async %A[%c0, %i] dims [0, 1] to %t : !memory to !a
      warp.producer_commit %p[%stage, %phase] : !p
      warp.consumer_wait %p[%stage, %phase] : !p
      // expected-error @+1 {{the result of an asynchronous dot is never waited for}}
      %next = warp.dot async "c" %t, %t, %d : !a, !a, !sum
      warp.await_reads %d : !sum
      warp.consumer_release %p[%last, %then] : !p
      %other = arith.xori %stage, %one : i32
      %turned = arith.xori %phase, %stage : i32
      scf.yield %next, %other, %turned, %stage, %phase : !sum, i32, i32, i32, i32
    }
    warp.await_reads %sum : !sum
    warp.consumer_release %p[%s1, %f1] : !p
    gpu.return
  }

  // The release of a stage of the dot that was just issued: found by the local checks.
  gpu.func @own_stage(%A: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : !acc
    %begin = warp.begin_sum %zero : !acc
    %ring = warp.alloc : !as
    %p = warp.pipeline : !p
    warp.producer_acquire %p[%z, %z] : !p
    %t0 = warp.stage %ring[%z] : !as to !a
    warp.copy async %A[%c0, %c0] dims [0, 1] to %t0 : !memory to !a
    warp.producer_commit %p[%z, %z] : !p
    warp.consumer_wait %p[%z, %z] : !p
    %p0 = warp.dot async "c" %t0, %t0, %begin : !a, !a, !sum
    %sum, %s, %f, %s1, %f1 = scf.for %i = %c1 to %n step %c1 iter_args(%d = %p0, %stage = %one, %phase = %z, %last = %z, %then = %z) -> (!sum, i32, i32, i32, i32) {
      warp.producer_acquire %p[%stage, %phase] : !p
      %t = warp.stage %ring[%stage] : !as to !a
      warp.copy async %A[%c0, %i] dims [0, 1] to %t : !memory to !a
      warp.producer_commit %p[%stage, %phase] : !p
      warp.consumer_wait %p[%stage, %phase] : !p
      // expected-note @+1 {{the dot}}
      %next = warp.dot async "c" %t, %t, %d : !a, !a, !sum
      warp.await_reads %d : !sum
      // expected-error @+1 {{releases a stage that an outstanding dot reads: expected a wait for the dot before the release}}
      warp.consumer_release %p[%stage, %phase] : !p
      %other = arith.xori %stage, %one : i32
      %turned = arith.xori %phase, %stage : i32
      scf.yield %next, %other, %turned, %stage, %phase : !sum, i32, i32, i32, i32
    }
    %tile = warp.dot_wait %sum : !sum
    warp.consumer_release %p[%s1, %f1] : !p
    gpu.return
  }

  // No wait in the loop: found by the simulation.
  // expected-note @+1 {{if this is 2}}
  gpu.func @no_wait(%A: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : !acc
    %begin = warp.begin_sum %zero : !acc
    %ring = warp.alloc : !as
    %p = warp.pipeline : !p
    warp.producer_acquire %p[%z, %z] : !p
    %t0 = warp.stage %ring[%z] : !as to !a
    warp.copy async %A[%c0, %c0] dims [0, 1] to %t0 : !memory to !a
    warp.producer_commit %p[%z, %z] : !p
    warp.consumer_wait %p[%z, %z] : !p
    // expected-note @+1 {{the dot}}
    %p0 = warp.dot async "c" %t0, %t0, %begin : !a, !a, !sum
    %sum, %s, %f, %s1, %f1 = scf.for %i = %c1 to %n step %c1 iter_args(%d = %p0, %stage = %one, %phase = %z, %last = %z, %then = %z) -> (!sum, i32, i32, i32, i32) {
      warp.producer_acquire %p[%stage, %phase] : !p
      %t = warp.stage %ring[%stage] : !as to !a
      warp.copy async %A[%c0, %i] dims [0, 1] to %t : !memory to !a
      warp.producer_commit %p[%stage, %phase] : !p
      warp.consumer_wait %p[%stage, %phase] : !p
      %next = warp.dot async "c" %t, %t, %d : !a, !a, !sum
      // expected-error @+1 {{releases stage 0 while an asynchronous dot may still read it}}
      warp.consumer_release %p[%last, %then] : !p
      %other = arith.xori %stage, %one : i32
      %turned = arith.xori %phase, %stage : i32
      scf.yield %next, %other, %turned, %stage, %phase : !sum, i32, i32, i32, i32
    }
    %tile = warp.dot_wait %sum : !sum
    warp.consumer_release %p[%s1, %f1] : !p
    gpu.return
  }
}
