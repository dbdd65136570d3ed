// Remarks that explain a schedule.
// RUN: fovea-opt %s --fovea-to-tile=target=sm_90a --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s
// RUN: fovea-opt %s --fovea-to-tile=target=sm_80 --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=SYNC
// RUN: fovea-opt %s --fovea-to-tile="target=sm_90a schedule=tile_n=32,tau=16" --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=ASKED
// RUN: fovea-opt %s --fovea-to-tile="target=sm_90a schedule=producer_registers=0,consumer_registers=0,work=single,tile_m=32,warps=2" --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER

// CHECK: :[[# @LINE + 20]]:8: remark: [Analysis] chosen | Category:schedule | Function=causal | Problem="{{.*}}"head_dim":128{{.*}}", Reason="by the planner's rules for the target, the head dims and the mods: there is no table of measured schedules", Schedule="tile_m=128,tile_n=128
// CHECK: [Analysis] unit | {{.*}} Reason="the best MMA unit that 'sm_90a' has for the problem; it has no tcgen05", Value=wgmma
// CHECK: [Analysis] tile_n | {{.*}} Reason="144 does not fit: schedule needs {{[0-9]+}} bytes of shared memory, but 'sm_90a' has 232448", Value=128
// CHECK: [Analysis] warps | {{.*}} Reason="12 does not fit: schedule needs about {{[0-9]+}} registers per compute thread
// CHECK: [Analysis] stages | {{.*}} Reason="3 does not fit
// CHECK: [Analysis] work | {{.*}} Reason="query tiles iterate over different numbers of keys, so CTAs fetch the next tile dynamically", Value=dynamic
// CHECK-NOT: Function=causal
// CHECK: [Analysis] chosen | {{.*}} Function=listed

// The preferred MMA unit does not support such blocks.
// CHECK: [Missed] unit | {{.*}} Function=listed | Reason="wgmma is not used: its tiles of 64 queries don't divide the block-sparse mask's blocks of 32"
// CHECK: [Analysis] unit | {{.*}} Function=listed | {{.*}} Value=mma_sync
// CHECK: [Analysis] tile_n | {{.*}} Reason="it must divide the block-sparse mask's blocks of 128 keys"

// SYNC: [Analysis] unit | {{.*}} Reason="the best MMA unit that 'sm_80' has for the problem; it has no tcgen05, wgmma", Value=mma_sync
// ASKED: [Analysis] tile_n | {{.*}} Reason=user-specified, Value=32
// ASKED: [Analysis] tau | {{.*}} Reason=user-specified
// OTHER: [Missed] unit | {{.*}} Reason="wgmma is not used: the user-specified schedule is for another MMA unit"
!t = tensor<?x?x?x128xbf16>
func.func @causal(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

!i = tensor<?x?x?xi32>
!l = tensor<?x?x?x?xi32>
func.func @listed(%q: !t, %k: !t, %v: !t, %count: !i, %index: !l) -> !t {
  %o = attn.forward %q, %k, %v
    blocks(%count, %index : !i, !l, size = [32, 128])
    : !t, !t, !t -> !t
  return %o : !t
}
