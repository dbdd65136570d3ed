// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sync-lanes)))' | FileCheck %s

// Arrivals at pipelines that order accesses to tensor memory.
!s = memref<128x64xf32, #warp.tmem>
!query = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!outs = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!key = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!score = tensor<128x64xf32, #warp.thread_rows>
!p = !warp.pipeline<1>
gpu.module @m {
  // CHECK-LABEL: gpu.func @f
  gpu.func @f() kernel {
    %q = warp.alloc : !query
    %k = warp.alloc : !key
    %ys = warp.alloc : !outs
    %s = warp.tmem_alloc column(0) : !s
    %ps = warp.pipeline : !p
    %pp = warp.pipeline : !p
    %pk = warp.pipeline : !p
    %py = warp.pipeline : !p
    warp.specialize captures(%q, %k, %s, %ps, %pp, %pk, %py, %ys : !query, !key, !s, !p, !p, !p, !p, !outs)
      // The role stores to tensor memory. The second arrival has the same fences.
      // CHECK: role @softmax
      // CHECK: warp.tmem_store
      // CHECK-NEXT: warp.sync_lanes tmem_loads tmem_stores
      // CHECK-NEXT: warp.producer_commit
      // CHECK-NEXT: arith.addi
      // CHECK-NEXT: warp.consumer_release
      // CHECK-NEXT: warp.return
      role @softmax warps(4) regs(192) {
      ^bb0(%q0: !query, %k0: !key, %s0: !s, %ps0: !p, %pp0: !p, %pk0: !p, %py0: !p, %ys0: !outs):
        %z = arith.constant 0 : i32
        warp.consumer_wait %ps0[%z, %z] : !p
        %x = warp.tmem_load %s0 : !s to !score
        warp.producer_acquire %pp0[%z, %z] : !p
        warp.tmem_store %x to %s0 : !score, !s
        warp.producer_commit %pp0[%z, %z] : !p
        %y = arith.addi %z, %z : i32
        warp.consumer_release %ps0[%y, %z] : !p
        warp.return
      }
      // The role only loads. Stores to shared memory need a fence of their own.
      // CHECK: role @correct
      // CHECK: warp.tmem_load
      // CHECK-NEXT: warp.local_store
      // CHECK-NEXT: warp.sync_lanes async_proxy tmem_loads{{$}}
      // CHECK-NEXT: warp.producer_commit
      // CHECK: warp.local_store
      // CHECK-NEXT: warp.fence_stores
      // CHECK-NEXT: warp.sync_lanes tmem_loads{{$}}
      // CHECK-NEXT: warp.producer_commit
      // CHECK-NEXT: warp.consumer_release
      role @correct warps(4) regs(104) {
      ^bb0(%q1: !query, %k1: !key, %s1: !s, %ps1: !p, %pp1: !p, %pk1: !p, %py1: !p, %ys1: !outs):
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %y = arith.constant dense<1.0> : tensor<128x64xbf16, #warp.thread_rows>
        %t = warp.stage %ys1[%z] : !outs to !query
        warp.consumer_wait %ps1[%z, %z] : !p
        warp.producer_acquire %py1[%z, %z] : !p
        %x = warp.tmem_load %s1 : !s to !score
        warp.local_store %y to %t : tensor<128x64xbf16, #warp.thread_rows>, !query
        warp.producer_commit %py1[%z, %z] : !p
        warp.producer_acquire %py1[%z, %one] : !p
        warp.local_store %y to %t : tensor<128x64xbf16, #warp.thread_rows>, !query
        warp.fence_stores %t : !query
        warp.producer_commit %py1[%z, %one] : !p
        warp.consumer_release %ps1[%z, %z] : !p
        warp.return
      }
      // Signals after dots need nothing, and neither do copies.
      // CHECK: role @mma
      // CHECK-NOT: warp.sync_lanes
      role @mma warps(1) regs(48) {
      ^bb0(%q2: !query, %k2: !key, %s2: !s, %ps2: !p, %pp2: !p, %pk2: !p, %py2: !p, %ys2: !outs):
        %z = arith.constant 0 : i32
        %false = arith.constant false
        warp.consumer_wait %pk2[%z, %z] : !p
        warp.producer_acquire %ps2[%z, %z] : !p
        warp.dot_into %q2, %k2, %s2 accumulate(%false) transpose_b : !query, !key, !s
        warp.commit_after_dots %ps2[%z, %z] : !p
        warp.consumer_wait %pp2[%z, %z] : !p
        warp.release_after_dots %pp2[%z, %z] : !p
        warp.release_after_dots %pk2[%z, %z] : !p
        warp.return
      }
      role @load warps(3) regs(48) {
      ^bb0(%q3: !query, %k3: !key, %s3: !s, %ps3: !p, %pp3: !p, %pk3: !p, %py3: !p, %ys3: !outs):
        %z = arith.constant 0 : i32
        warp.producer_acquire %pk3[%z, %z] : !p
        warp.producer_commit %pk3[%z, %z] : !p
        warp.return
      }
    gpu.return
  }
}
