// The load of a stream with `read_early` moves above the fence of the role's last stores, with its
// wait and release. Left alone: streams without the field, loads after a dot or after the release
// of another stage, and loads whose stage is computed after the fence.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-hoist-shared-loads)))' | FileCheck %s

// CHECK: <"numbers", stages = 2, staged, read_early>
// CHECK-LABEL: role @compute
// CHECK: %[[STAGE:.*]] = warp.stage %[[NUMBERS:.*]][%[[Z:.*]]] : memref<2x1x64xf32
// CHECK: warp.local_store "ds"
// CHECK-NEXT: warp.consumer_wait %[[NP:.*]][%[[Z]], %[[Z]]]
// CHECK-NEXT: %[[D:.*]] = warp.local_load %[[STAGE]]
// CHECK-NEXT: warp.consumer_release %[[NP]][%[[Z]], %[[Z]]]
// CHECK-NEXT: warp.fence_stores
// CHECK-NEXT: warp.producer_commit
// CHECK-NEXT: warp.consumer_wait %[[OP:.*]][%[[Z]], %[[Z]]]
// CHECK-NEXT: warp.local_load
// CHECK-NEXT: warp.consumer_release %[[OP]]
// CHECK-NEXT: tile.broadcast %[[D]]

// After a dot.
// CHECK: warp.fence_stores
// CHECK-NEXT: warp.dot "s"
// CHECK-NEXT: warp.consumer_wait %[[NP]]
// CHECK-NEXT: warp.local_load

// After a release: the producer of the stream may wait for it.
// CHECK: warp.fence_stores
// CHECK-NEXT: warp.consumer_wait %[[OP]]
// CHECK: warp.consumer_wait %[[NP]]

// The stage index is computed after the fence.
// CHECK: warp.fence_stores
// CHECK: %[[WHERE:.*]] = arith.addi
// CHECK-NEXT: warp.consumer_wait %[[NP]][%[[WHERE]], %[[Z]]]
// Two loads, one of which may be of another stage.
// CHECK: warp.fence_stores
// CHECK-NEXT: warp.consumer_wait %[[NP]]
// CHECK-NEXT: warp.local_load
// CHECK-NEXT: warp.local_load
// A load of a stream after the wait for another stream.
// CHECK: warp.fence_stores
// CHECK-NEXT: warp.consumer_wait %[[OP]]
// CHECK-NEXT: warp.consumer_wait %[[NP]]
// CHECK-NEXT: warp.local_load
// A load of a stage after the wait for another stage.
// CHECK: warp.fence_stores
// CHECK-NEXT: warp.consumer_wait %[[NP]][%[[Z]], %[[Z]]]
// CHECK-NEXT: warp.consumer_wait %[[NP]]
// CHECK-NEXT: warp.local_load
// The release is of another use of the stage.
// CHECK: warp.fence_stores
// CHECK-NEXT: warp.consumer_wait %[[NP]]
// CHECK-NEXT: warp.local_load
// A stage view outside of the loop stays there.
// CHECK: %[[OUTSIDE:.*]] = warp.stage %[[NUMBERS]]
// CHECK-NEXT: scf.for
// CHECK-NEXT: warp.consumer_wait %[[NP]]
// CHECK-NEXT: warp.local_load %[[OUTSIDE]]
// CHECK-NEXT: warp.consumer_release %[[NP]]
// CHECK-NEXT: warp.fence_stores
// CHECK: warp.local_load %[[OUTSIDE]]
// CHECK: warp.return

!numbers = memref<2x1x64xf32, #warp.shared<row_bytes = 128>>
!number = memref<1x64xf32, #warp.shared<row_bytes = 128>>
!tile = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!row = tensor<1x64xf32, #warp.wgmma<groups = 1>>
!acc = tensor<64x64xf32, #warp.wgmma<groups = 1>>
!half = tensor<64x64xbf16, #warp.wgmma<groups = 1>>
gpu.module @kernels {
  launch.abi @read target("sm_90a")
    plan(<#warp.wgmma_unit, tile_n = 64, streams = [<"numbers", stages = 2, staged, read_early>, <"others", stages = 2, staged>],
          roles = [<"numbers", warps = 4, registers = 24, owns = ["numbers", "others"]>,
                   <"compute", warps = 4, registers = 208, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @read() kernel {
    %ns = warp.alloc : !numbers
    %os = warp.alloc : !numbers
    %ds = warp.alloc : !tile
    %np = warp.pipeline "numbers" : !warp.pipeline<2>
    %op = warp.pipeline "others" : !warp.pipeline<2>
    %dp = warp.pipeline "ds" : !warp.pipeline<1>
    warp.specialize captures(%ns, %os, %ds, %np, %op, %dp : !numbers, !numbers, !tile, !warp.pipeline<2>, !warp.pipeline<2>, !warp.pipeline<1>)
    role @numbers warps(4) regs(24) {
    ^bb0(%n: !numbers, %o: !numbers, %d: !tile, %p: !warp.pipeline<2>, %q: !warp.pipeline<2>, %r: !warp.pipeline<1>):
      %z = arith.constant 0 : i32
      %row = arith.constant dense<1.0> : !row
      %to = warp.stage %n[%z] : !numbers to !number
      warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
      warp.local_store %row to %to : !row, !number
      warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
      %too = warp.stage %o[%z] : !numbers to !number
      warp.producer_acquire %q[%z, %z] : !warp.pipeline<2>
      warp.local_store %row to %too : !row, !number
      warp.producer_commit %q[%z, %z] : !warp.pipeline<2>
      warp.return
    }
    role @compute warps(4) regs(208) {
    ^bb0(%n: !numbers, %o: !numbers, %d: !tile, %p: !warp.pipeline<2>, %q: !warp.pipeline<2>, %r: !warp.pipeline<1>):
      %z = arith.constant 0 : i32
      %zeros = arith.constant dense<0.0> : !acc
      %half = arith.constant dense<0.0> : !half
      %from = warp.stage %n[%z] : !numbers to !number
      %other = warp.stage %o[%z] : !numbers to !number
      warp.local_store "ds" %half to %d : !half, !tile
      warp.fence_stores %d : !tile
      warp.producer_commit %r[%z, %z] : !warp.pipeline<1>
      warp.consumer_wait %q[%z, %z] : !warp.pipeline<2>
      %b = warp.local_load %other : !number to !row
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
      %a = warp.local_load %from : !number to !row
      warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
      warp.consumer_release %q[%z, %z] : !warp.pipeline<2>
      %start = tile.broadcast %a : !row to !acc
      warp.fence_stores %d : !tile
      %s = warp.dot "s" %d, %d, %start transpose_b : !tile, !tile, !acc
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
      %c = warp.local_load %from : !number to !row
      warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
      warp.fence_stores %d : !tile
      warp.consumer_wait %q[%z, %z] : !warp.pipeline<2>
      %e = warp.local_load %other : !number to !row
      warp.consumer_release %q[%z, %z] : !warp.pipeline<2>
      %f = arith.constant 1 : i32
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
      %h = warp.local_load %from : !number to !row
      warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
      warp.fence_stores %d : !tile
      %where = arith.addi %z, %f : i32
      warp.consumer_wait %p[%where, %z] : !warp.pipeline<2>
      %there = warp.stage %n[%where] : !numbers to !number
      %g = warp.local_load %there : !number to !row
      warp.consumer_release %p[%where, %z] : !warp.pipeline<2>
      warp.fence_stores %d : !tile
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
      %k = warp.local_load %from : !number to !row
      %l = warp.local_load %other : !number to !row
      warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
      warp.fence_stores %d : !tile
      warp.consumer_wait %q[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
      %t = warp.local_load %other : !number to !row
      warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
      warp.consumer_release %q[%z, %z] : !warp.pipeline<2>
      %from1 = warp.stage %n[%f] : !numbers to !number
      warp.fence_stores %d : !tile
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %p[%f, %z] : !warp.pipeline<2>
      %u = warp.local_load %from : !number to !row
      warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
      %v = warp.local_load %from1 : !number to !row
      warp.consumer_release %p[%f, %z] : !warp.pipeline<2>
      warp.fence_stores %d : !tile
      warp.consumer_wait %p[%f, %z] : !warp.pipeline<2>
      %w = warp.local_load %from1 : !number to !row
      warp.consumer_release %p[%f, %f] : !warp.pipeline<2>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %outside = warp.stage %n[%z] : !numbers to !number
      scf.for %round = %c0 to %c1 step %c1 {
        warp.fence_stores %d : !tile
        warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
        %x = warp.local_load %outside : !number to !row
        warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
      }
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
      %y = warp.local_load %outside : !number to !row
      warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
      warp.return
    }
    gpu.return
  }
}
