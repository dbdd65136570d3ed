// GPUs with 99 KiB of shared memory support gradients of wide heads with one buffer for the
// blocks of a tile's loop.
// DEFINE: %{target} = sm_86
// DEFINE: %{run} = fovea-run %s --entry=wide --random=1 --dims=B=1,Hq=2,Hkv=2,Sq=70,Skv=130 --check --target=%{target} --level=ptx
// RUN: %{run}
// REDEFINE: %{target} = sm_120
// RUN: %{run}
// RUN: fovea-opt %s --attn-analyze-mask --attn-to-tile=target=sm_86 | FileCheck %s
// RUN: sed s/x256x/x192x/g %s | fovea-opt --attn-analyze-mask --attn-to-tile=target=sm_86 | FileCheck %s --check-prefix=TWO
// RUN: not fovea-opt %s --fovea-to-warp='target=sm_86 schedule=stages=2' 2>&1 | FileCheck %s --check-prefix=ASKED
// CHECK-LABEL: launch.abi @wide
// CHECK-SAME: plan(<#warp.mma_sync_unit, tile_m = 64, tile_n = 32, warps = 4, stages = 1>)
// CHECK-LABEL: launch.abi @wide_queries
// CHECK-SAME: tile_n = 32, warps = 4, stages = 1>)
// TWO-LABEL: launch.abi @wide
// TWO-SAME: tile_n = 32, warps = 4, stages = 2>)
// ASKED: error: kernel needs 131072 bytes of shared memory, but 'sm_86' has 101376
!t = tensor<?x?x?x256xbf16>
!rows = tensor<?x?x?xf32>
func.func @wide(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
