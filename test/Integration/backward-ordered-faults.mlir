// Faults planted into a deterministic backward pass at the warp level: CTAs run in another
// order with each seed, so that sums in no order differ in their last bits.
// RUN: fovea-compile %s --target=sm_90a --emit=warp -o %t.warp.mlir
// DEFINE: %{file} =
// DEFINE: %{run} = fovea-run %{file} --entry=causal --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=700,Skv=650 --seeds=5
// REDEFINE: %{file} = %t.warp.mlir
// RUN: %{run} --outputs %t.dq.npy %t.dk.npy %t.dv.npy

// No role waits for a semaphore slot.
// RUN: sed 's/^ *tile.semaphore_wait .*//' %t.warp.mlir > %t.no-wait.mlir
// REDEFINE: %{file} = %t.no-wait.mlir
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=NO-WAIT
// NO-WAIT: error: seeds 0 and {{[0-9]+}} give different numbers in output 'dq'

// Turns never end.
// RUN: sed 's/^ *tile.semaphore_release .*//' %t.warp.mlir > %t.no-release.mlir
// REDEFINE: %{file} = %t.no-release.mlir
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=NO-RELEASE
// NO-RELEASE: note: role @acquire waits for semaphore slot {{[0-9]+}} with 0 released

// Semaphore slots are requested, but the accumulating role does not wait for them.
// RUN: sed 's/^ *warp.consumer_\(wait\|release\) %%turn_acquire_pipeline.*//' %t.warp.mlir > %t.ahead.mlir
// REDEFINE: %{file} = %t.ahead.mlir
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=AHEAD
// AHEAD: error:

// A semaphore slot is released before everything is added.
// RUN: sed 's/^ *warp.\(consumer\|producer\)_[a-z]* %%dq_sum_pipeline.*//' %t.warp.mlir > %t.early.mlir
// REDEFINE: %{file} = %t.early.mlir
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: {{semaphore slot [0-9]+ is released already|seeds 0 and [0-9]+ give different numbers in output 'dq'}}

// All tiles wait for the first semaphore slot, which is released early.
// RUN: sed 's/\(tile.semaphore_wait .* for \)%%[#0-9a-z_]*/\1%%c0_i32/' %t.warp.mlir > %t.first.mlir
// REDEFINE: %{file} = %t.first.mlir
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=FIRST
// FIRST: error: semaphore slot 0 is released already: found {{[0-9]+}} releases

!t = tensor<?x?x?x128xbf16>
!rows = tensor<?x?x?xf32>
func.func @causal(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
