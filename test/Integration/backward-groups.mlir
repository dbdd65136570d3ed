// Gradients of keys that several heads share, with masks: a block of queries is processed
// head by head. Against f64: groups of 2 and 7 and of one, tiles that process blocks upwards
// and downwards, more keys than queries, rows that divide no tile. Sums of two tiles are the
// same in any order, so schedules by different seeds agree.
// DEFINE: %{check} = FileCheck %s --check-prefix=NUMBERS
// DEFINE: %{run} = fovea-run %s --random=1 --check --target=sm_90a
// RUN: %{run} --entry=causal --dims=B=1,Hq=14,Hkv=2,Sq=300,Skv=420 --level=tile | %{check}
// RUN: %{run} --entry=causal --dims=B=1,Hq=4,Hkv=2,Sq=420,Skv=250 --level=warp --seeds=3 | %{check}
// RUN: %{run} --entry=causal --dims=B=1,Hq=7,Hkv=1,Sq=200,Skv=300 --level=ptx | %{check}
// RUN: %{run} --entry=causal --dims=B=1,Hq=2,Hkv=2,Sq=200,Skv=300 --level=ptx | %{check}
// RUN: %{run} --entry=window --dims=B=1,Hq=4,Hkv=2,Sq=700,Skv=650 --level=warp | %{check}
// RUN: %{run} --entry=window --dims=B=2,Hq=3,Hkv=1,Sq=330,Skv=400 --level=ptx | %{check}
// RUN: %{run} --entry=ordered --dims=B=1,Sq=300,Skv=420 --level=tile | %{check}
// RUN: %{run} --entry=ordered --dims=B=1,Sq=420,Skv=650 --level=warp --seeds=3 | %{check}
// RUN: %{run} --entry=ordered --dims=B=1,Sq=200,Skv=300 --level=ptx | %{check}
// RUN: %{run} --entry=by_head --dims=B=1,Hq=4,Hkv=2,Sq=300,Skv=420 --level=warp | %{check}
// No heads of queries: no block is processed, although roles always process one per head.
// RUN: %{run} --entry=causal --dims=B=1,Hq=0,Hkv=2,Sq=200,Skv=300 --level=tile | %{check}
// RUN: %{run} --entry=causal --dims=B=1,Hq=0,Hkv=2,Sq=200,Skv=300 --level=ptx | %{check}
// RUN: %{run} --entry=causal --dims=B=1,Hq=0,Hkv=0,Sq=200,Skv=300 --level=warp | %{check}
// RUN: not %{run} --entry=causal --dims=B=1,Hq=2,Hkv=0,Sq=200,Skv=300 --level=warp 2>&1 | FileCheck %s --check-prefix=NO-HEADS
// NO-HEADS: must be a multiple of
// On a target without roles, too.
// RUN: fovea-run %s --random=1 --check --target=sm_80 --entry=causal --dims=B=1,Hq=6,Hkv=2,Sq=150,Skv=200 --level=ptx | %{check}

// NUMBERS: dq {{.*}} passed
// NUMBERS-NEXT: dk {{.*}} passed
// NUMBERS-NEXT: dv {{.*}} passed

// One loop over blocks and heads. A block's number and the head within its group come from a
// product with the group's reciprocal, which is found once for a tile of keys.
// RUN: fovea-compile %s --kernel=causal --target=sm_90a --emit=tile | FileCheck %s
// CHECK-LABEL: gpu.func @causal(
// CHECK: tile.foreach_work
// CHECK: %[[RECIPROCAL:.*]] = arith.divui %c-1_i32, %{{.*}} : i32
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: arith.extui %{{.*}} : i32 to i64
// CHECK: %[[WIDE:.*]] = arith.extui %[[RECIPROCAL]] : i32 to i64
// CHECK: arith.muli %{{.*}}, %[[WIDE]] : i64
// CHECK: tile.dot "s"

// A semaphore slot of dq_accum belongs to one head of a block.
// RUN: fovea-compile %s --kernel=ordered --target=sm_90a --emit=warp | FileCheck %s --check-prefix=ORDERED
// ORDERED-LABEL: gpu.func @ordered(
// ORDERED: tile.semaphore_wait "turn_acquire"
// ORDERED: tile.semaphore_release "turn_release"
// ORDERED: gpu.func @ordered_turns(

// RUN: fovea-compile %s --kernel=ordered --target=sm_90a --emit=tile | FileCheck %s --check-prefix=INSIDE
// INSIDE-LABEL: gpu.func @ordered(
// INSIDE: tile.foreach_work
// INSIDE: scf.for
// INSIDE-NOT: scf.for
// INSIDE: tile.dot "s"
// Where there may be one head to one, which would wait for too long, and where each head's
// blocks are others, heads are outside.
// RUN: sed 's/!q6 = tensor<?x6x/!q6 = tensor<?x?x/; s/!rows6 = tensor<?x6x/!rows6 = tensor<?x?x/' %s > %t.unknown.mlir
// RUN: fovea-compile %t.unknown.mlir --kernel=ordered --target=sm_90a --emit=tile | sed 's/@ordered/@by_head/' | FileCheck %s --check-prefix=OUTSIDE
// RUN: fovea-compile %s --kernel=by_head --target=sm_90a --emit=tile | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE-LABEL: gpu.func @by_head(
// OUTSIDE: tile.foreach_work
// OUTSIDE: scf.for
// OUTSIDE: scf.for
// OUTSIDE: tile.dot "s"

!q = tensor<?x?x?x128xbf16>
!rows = tensor<?x?x?xf32>
!q6 = tensor<?x6x?x128xbf16>
!k2 = tensor<?x2x?x128xbf16>
!rows6 = tensor<?x6x?xf32>

func.func @causal(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !rows, %do: !q) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !q, !q, !q, !q, !rows, !q -> !q, !q, !q
  return %dq, %dk, %dv : !q, !q, !q
}

func.func @window(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !rows, %do: !q) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %reach = arith.constant 90 : index
      %ahead = arith.addi %j, %reach : index
      %behind = arith.addi %i, %reach : index
      %0 = arith.cmpi sle, %i, %ahead : index
      %1 = arith.cmpi sle, %j, %behind : index
      %keep = arith.andi %0, %1 : i1
      attn.yield %keep : i1
    } : !q, !q, !q, !q, !rows, !q -> !q, !q, !q
  return %dq, %dk, %dv : !q, !q, !q
}

// Deterministic: of groups that are known.
func.func @ordered(%q: !q6, %k: !k2, %v: !k2, %o: !q6, %lse: !rows6, %do: !q6) -> (!q6, !k2, !k2) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !q6, !k2, !k2, !q6, !rows6, !q6 -> !q6, !k2, !k2
  return %dq, %dk, %dv : !q6, !k2, !k2
}

func.func @by_head(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !rows, %do: !q) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %part = arith.constant 100 : index
      %reach = arith.muli %h, %part : index
      %ahead = arith.addi %j, %reach : index
      %0 = arith.cmpi sge, %i, %j : index
      %1 = arith.cmpi sle, %i, %ahead : index
      %keep = arith.andi %0, %1 : i1
      attn.yield %keep : i1
    } : !q, !q, !q, !q, !rows, !q -> !q, !q, !q
  return %dq, %dk, %dv : !q, !q, !q
}
