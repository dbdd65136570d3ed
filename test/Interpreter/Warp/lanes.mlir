// One lane of a warp arrives for all. The interpreter runs a warp group as one agent; an access that
// each lane makes by itself is outstanding until the lanes synchronise.
// RUN: fovea-run %s --outputs %t.o.npy --seeds=20
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s
// CHECK: shape 64 32
// CHECK-NEXT: {{^}}3 3 3

// RUN: sed '/AFTER THE STORE/d' %s | not fovea-run - 2>&1 | FileCheck %s --check-prefix=STORE
// STORE: error: commits stage 0 while lanes of the warp may still write it: expected 'warp.sync_lanes' in between
// STORE-NEXT: warp.producer_commit
// STORE: note: written here
// STORE-NEXT: warp.local_store

// RUN: sed '/AFTER THE LOAD/d' %s | not fovea-run - 2>&1 | FileCheck %s --check-prefix=LOAD
// LOAD: error: releases stage 0 while lanes of the warp may still read it: expected 'warp.sync_lanes' in between
// LOAD-NEXT: warp.consumer_release
// LOAD: note: read here
// LOAD-NEXT: warp.local_load
// LOAD: note: in role @compute

// `warp-sync-lanes` repairs both.
// RUN: sed '/AFTER THE/d' %s | fovea-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sync-lanes)))' | fovea-run - --seeds=20

!vector = memref<1x32xf32, #warp.shared<row_bytes = 128>>
!ring = memref<1x1x32xf32, #warp.shared<row_bytes = 128>>
!p = !warp.pipeline<1>
!o = memref<64x32xf32>
#acc = #warp.wgmma<groups = 1>
!x = tensor<1x32xf32, #acc>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 32, warps = 4, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<64x32xf32>, ["M", "N"], 4>])
    parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(1024)
  gpu.func @f(%o: !o) kernel {
    %ring = warp.alloc offset(0) : !ring
    %p = warp.pipeline "numbers" offset(512) : !p
    warp.specialize captures(%ring, %p, %o : !ring, !p, !o)
      role @compute warps(4) regs(208) {
      ^bb0(%ring0: !ring, %p0: !p, %o0: !o):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %t = warp.stage %ring0[%z] : !ring to !vector
        warp.consumer_wait %p0[%z, %z] : !p
        %a = warp.local_load %t : !vector to !x
        warp.sync_lanes // AFTER THE LOAD
        warp.consumer_release %p0[%z, %z] : !p
        warp.consumer_wait %p0[%z, %one] : !p
        %b = warp.local_load %t : !vector to !x
        warp.sync_lanes
        warp.consumer_release %p0[%z, %one] : !p
        %y = arith.addf %a, %b : !x
        %r = tile.broadcast %y : !x to tensor<64x32xf32, #acc>
        tile.store %r, %o0[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #acc>, !o
        warp.return
      }
      role @idle warps(3) regs(24) {
      ^bb0(%ring2: !ring, %p2: !p, %o2: !o):
        warp.return
      }
      role @numbers warps(1) regs(24) {
      ^bb0(%ring1: !ring, %p1: !p, %o1: !o):
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %x1 = arith.constant dense<1.0> : tensor<1x32xf32, #warp.lanes>
        %x2 = arith.constant dense<2.0> : tensor<1x32xf32, #warp.lanes>
        %t = warp.stage %ring1[%z] : !ring to !vector
        warp.producer_acquire %p1[%z, %z] : !p
        warp.local_store "numbers" %x1 to %t : tensor<1x32xf32, #warp.lanes>, !vector
        warp.sync_lanes // AFTER THE STORE
        warp.producer_commit %p1[%z, %z] : !p
        warp.producer_acquire %p1[%z, %one] : !p
        warp.local_store "numbers" %x2 to %t : tensor<1x32xf32, #warp.lanes>, !vector
        warp.sync_lanes
        warp.producer_commit %p1[%z, %one] : !p
        warp.return
      }
    gpu.return
  }
}
