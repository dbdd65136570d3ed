// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sync-lanes)))' -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: fovea-opt %t.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sync-lanes)))' | diff - %t.mlir

!vector = memref<1x32xf32, #warp.shared<row_bytes = 128>>
!vectors = memref<2x1x32xf32, #warp.shared<row_bytes = 128>>
!positions = memref<1x96xf32, #warp.shared<row_bytes = 128>>
!own = tensor<1x96xf32, #warp.fragment_diagonals<rows = 64, warps = 4>>
!tile = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!ring = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
#acc = #warp.wgmma<groups = 1>
!v = tensor<1x32xf32, #acc>
!x = tensor<64x32xbf16, #acc>
!p = !warp.pipeline<2>
gpu.module @m {
  // Releases.
  // CHECK-LABEL: gpu.func @releases
  gpu.func @releases(%n: i1) kernel {
    %vs = warp.alloc : !vectors
    %ts = warp.alloc : !ring
    %ps = warp.alloc : !positions
    %p = warp.pipeline : !p
    warp.specialize captures(%vs, %ts, %ps, %p, %n : !vectors, !ring, !positions, !p, i1)
      // CHECK: role @compute
      role @compute warps(4) regs(208) {
      ^bb0(%b: !vectors, %t: !ring, %d: !positions, %q: !p, %yes: i1):
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %k = arith.constant dense<1.0> : !v
        %x = arith.constant dense<1.0> : !x
        %v0 = warp.stage %b[%z] : !vectors to !vector
        %v1 = warp.stage %b[%one] : !vectors to !vector
        %t0 = warp.stage %t[%z] : !ring to !tile

        // Lanes have loaded elements of the stage. The release moves below the arithmetic.
        // CHECK: warp.consumer_wait %[[Q:.*]][%[[Z:.*]], %[[Z]]]
        // CHECK-NEXT: warp.local_load
        // CHECK-NEXT: arith.addf
        // CHECK-NEXT: warp.sync_lanes{{$}}
        // CHECK-NEXT: warp.consumer_release %[[Q]]
        // CHECK-NEXT: warp.consumer_wait
        warp.consumer_wait %q[%z, %z] : !p
        %a = warp.local_load %v0 : !vector to !v
        warp.consumer_release %q[%z, %z] : !p
        %s = arith.addf %a, %k : !v

        // Lanes have loaded elements of another stage; a warp loads a matrix as a whole.
        // CHECK-NEXT: warp.local_load
        // CHECK-NEXT: warp.local_load
        // CHECK-NEXT: warp.consumer_release
        // CHECK-NEXT: warp.consumer_wait
        warp.consumer_wait %q[%z, %one] : !p
        %c = warp.local_load %v1 : !vector to !v
        %m = warp.local_load %t0 : !tile to !x
        warp.consumer_release %q[%z, %one] : !p

        // Lanes have synchronised since at a fence.
        // CHECK-NEXT: warp.local_load
        // CHECK-NEXT: warp.local_store
        // CHECK-NEXT: warp.fence_stores
        // CHECK-NEXT: warp.consumer_release
        // CHECK-NEXT: warp.consumer_wait
        warp.consumer_wait %q[%z, %z] : !p
        %e = warp.local_load %v0 : !vector to !v
        warp.local_store %x to %t0 : !x, !tile
        warp.fence_stores %t0 : !tile
        warp.consumer_release %q[%z, %z] : !p

        // Lanes have loaded in a branch.
        // CHECK-NEXT: scf.if
        // CHECK-NEXT: warp.local_load
        // CHECK: scf.yield
        // CHECK: scf.yield
        // CHECK-NEXT: }
        // CHECK-NEXT: warp.sync_lanes{{$}}
        // CHECK-NEXT: warp.consumer_release
        warp.consumer_wait %q[%z, %one] : !p
        %g = scf.if %yes -> (!v) {
          %l = warp.local_load %v0 : !vector to !v
          scf.yield %l : !v
        } else {
          scf.yield %k : !v
        }
        warp.consumer_release %q[%z, %one] : !p

        // Relative positions: right after the load.
        // CHECK-NEXT: warp.consumer_wait
        // CHECK-NEXT: scf.if
        // CHECK-NEXT: warp.local_load
        // CHECK-NEXT: warp.sync_lanes{{$}}
        // CHECK-NEXT: tile.diagonals
        // CHECK-NEXT: }
        // CHECK-NEXT: warp.consumer_release
        warp.consumer_wait %q[%z, %z] : !p
        scf.if %yes {
          %own = warp.local_load %d : !positions to !own
          %r = tile.diagonals %own : !own to tensor<64x32xf32, #acc>
        }
        warp.consumer_release %q[%z, %z] : !p
        warp.return
      }
    gpu.return
  }

  // Commits.
  // CHECK-LABEL: gpu.func @commits
  gpu.func @commits() kernel {
    %ts = warp.alloc : !ring
    %p = warp.pipeline : !p
    warp.specialize captures(%ts, %p : !ring, !p)
      // CHECK: role @fill
      role @fill warps(4) regs(208) {
      ^bb0(%t: !ring, %q: !p):
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %x = arith.constant dense<1.0> : !x
        %t0 = warp.stage %t[%z] : !ring to !tile
        %t1 = warp.stage %t[%one] : !ring to !tile

        // CHECK: warp.local_store
        // CHECK-NEXT: warp.sync_lanes async_proxy
        // CHECK-NEXT: warp.producer_commit
        warp.producer_acquire %q[%z, %z] : !p
        warp.local_store %x to %t0 : !x, !tile
        warp.producer_commit %q[%z, %z] : !p

        // The fence of the stage suffices.
        // CHECK: warp.fence_stores
        // CHECK-NEXT: warp.producer_commit
        warp.producer_acquire %q[%one, %z] : !p
        warp.local_store %x to %t1 : !x, !tile
        warp.fence_stores %t1 : !tile
        warp.producer_commit %q[%one, %z] : !p

        // The fence of another stage does not.
        // CHECK: warp.fence_stores
        // CHECK-NEXT: warp.sync_lanes async_proxy
        // CHECK-NEXT: warp.producer_commit
        warp.producer_acquire %q[%z, %one] : !p
        warp.local_store %x to %t0 : !x, !tile
        warp.fence_stores %t1 : !tile
        warp.producer_commit %q[%z, %one] : !p
        warp.return
      }
    gpu.return
  }

  // An elected lane issues all copies of a role. Without roles, the CTA synchronises.
  // CHECK-LABEL: gpu.func @copies
  // CHECK-NOT: warp.sync_lanes
  gpu.func @copies(%g: memref<64x32xbf16>) kernel {
    %ts = warp.alloc : !ring
    %p = warp.pipeline : !p
    %f = warp.pipeline : !p
    warp.specialize captures(%g, %ts, %p : memref<64x32xbf16>, !ring, !p)
      role @load warps(4) regs(24) {
      ^bb0(%k: memref<64x32xbf16>, %t: !ring, %q: !p):
        %z = arith.constant 0 : i32
        %c0 = arith.constant 0 : index
        %t0 = warp.stage %t[%z] : !ring to !tile
        warp.producer_acquire %q[%z, %z] : !p
        warp.copy async %k[%c0, %c0] dims [0, 1] to %t0 : memref<64x32xbf16> to !tile
        warp.producer_commit %q[%z, %z] : !p
        warp.return
      }
    %z = arith.constant 0 : i32
    %x = arith.constant dense<1.0> : !x
    %t0 = warp.stage %ts[%z] : !ring to !tile
    warp.producer_acquire %f[%z, %z] : !p
    warp.local_store %x to %t0 : !x, !tile
    warp.producer_commit %f[%z, %z] : !p
    gpu.return
  }
}
