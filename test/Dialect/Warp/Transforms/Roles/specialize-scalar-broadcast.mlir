// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' --split-input-file | FileCheck %s

// The copying role computes an expensive scalar (a load from memory, a quotient by a launch-time
// value) and sends it with the stage that it fills next. A receiver itself computes cheap
// arithmetic on it, divisions by constants, and values that depend on the rows of its warp groups.
// CHECK-LABEL: gpu.func @relays
// CHECK-COUNT-2: warp.mailbox : !warp.mailbox<2>
// CHECK-NOT: warp.mailbox :
// CHECK: role @load
// CHECK-NOT: tile.held_rows
// CHECK: scf.for %[[J:.*]] = {{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}) -> (i32) {
// CHECK-DAG: %[[COUNT:.*]] = memref.load %{{.*}}[%[[J]]]
// CHECK-DAG: %[[PART:.*]] = arith.divui %[[J]], %{{.*}} : index
// CHECK-DAG: warp.producer_acquire %{{.*}}[%[[STAGE]], %{{.*}}]
// CHECK-DAG: %[[WIDE:.*]] = arith.index_cast %[[COUNT]] : i32 to index
// CHECK: warp.send %[[WIDE]] to %[[FIRST:.*]][%[[STAGE]]]
// CHECK: warp.send %[[PART]] to %[[SECOND:.*]][%[[STAGE]]]
// CHECK: warp.copy async "k" %{{.*}}[%[[PART]], %{{.*}}]
// CHECK: warp.producer_commit %{{.*}}[%[[STAGE]], %{{.*}}]
// CHECK-NOT: warp.send
// CHECK: role @compute
// CHECK-NOT: memref.load
// CHECK: scf.for %[[J:.*]] = {{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}) -> (i32) {
// CHECK-DAG: %[[ROW:.*]], %{{.*}} = tile.held_rows
// CHECK-DAG: %[[HELD:.*]] = arith.divui %[[ROW]], %{{.*}} : index
// CHECK-DAG: %[[EIGHTH:.*]] = arith.divui %[[J]], %c8 : index
// CHECK: warp.consumer_wait %{{.*}}[%[[STAGE]], %{{.*}}]
// CHECK-DAG: %[[RAW:.*]] = warp.receive %[[FIRST]][%[[STAGE]]]
// CHECK-DAG: %[[COUNT:.*]] = arith.index_cast %[[RAW]] : index to i32
// CHECK-DAG: %[[MORE:.*]] = arith.addi %[[COUNT]], %{{.*}} : i32
// CHECK-DAG: %[[PART:.*]] = warp.receive %[[SECOND]][%[[STAGE]]]
// CHECK-NOT: warp.receive
// CHECK: %[[A:.*]] = arith.index_cast %[[COUNT]] : i32 to index
// CHECK: %[[B:.*]] = arith.index_cast %[[MORE]] : i32 to index
// CHECK: tile.store {{("[^"]+" )?}}%{{.*}}, %{{.*}}[%[[A]],
// CHECK: tile.store {{("[^"]+" )?}}%{{.*}}, %{{.*}}[%[[B]],
// CHECK: tile.store {{("[^"]+" )?}}%{{.*}}, %{{.*}}[%[[PART]],
// CHECK: tile.store {{("[^"]+" )?}}%{{.*}}, %{{.*}}[%[[HELD]],
// CHECK: tile.store {{("[^"]+" )?}}%{{.*}}, %{{.*}}[%[[EIGHTH]],
!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @relays target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"counts", read, tensor<?xi32>, ["N"], 4>]) parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"counts", [0]>, #launch.scalar<"n", index>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @relays(%g: !memory, %counts: memref<?xi32, strided<[?]>>, %n: index, %out: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%stage = %z) -> i32 {
      %first, %rows = tile.held_rows tensor<128x1xf32, #warp.wgmma<groups = 2>>
      %held = arith.divui %first, %n : index
      %eighth = arith.divui %j, %c8 : index
      %count = memref.load %counts[%j] : memref<?xi32, strided<[?]>>
      %more = arith.addi %count, %one : i32
      %part = arith.divui %j, %n : index
      warp.producer_acquire %kp[%stage, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%stage] : !staged to !buffer
      warp.copy async "k" %g[%part, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%stage, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%stage, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%stage] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%stage, %z] : !warp.pipeline<2>
      %t = arith.truncf %s : !scores to tensor<128x64xbf16, #warp.wgmma<groups = 2>>
      %a = arith.index_cast %count : i32 to index
      %b = arith.index_cast %more : i32 to index
      tile.store %t, %out[%a, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
      tile.store %t, %out[%b, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
      tile.store %t, %out[%part, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
      tile.store %t, %out[%held, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
      tile.store %t, %out[%eighth, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
      %next = arith.xori %stage, %one : i32
      scf.yield %next : i32
    }
    gpu.return
  }
}

// -----

// A role that computes tiles sends nothing: each role that needs the scalar loads it.
// CHECK-LABEL: gpu.func @tiles
// CHECK-NOT: warp.mailbox
// CHECK-NOT: warp.send
// CHECK: role @compute
// CHECK: memref.load
!out = memref<?x?xf32, strided<[?, 1]>>
!ring = memref<2x1x96xf32, #warp.shared<row_bytes = 128>>
!row = memref<1x96xf32, #warp.shared<row_bytes = 128>>
#own = #warp.fragment_diagonals<rows = 64, warps = 4>
gpu.module @m {
  launch.abi @tiles target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 32, warps = 4,
       roles = [<"idle", warps = 3, registers = 24, owns = []>, <"diagonals", warps = 1, registers = 24, owns = ["diagonals"]>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"counts", read, tensor<?xi32>, ["N"], 4>, #launch.tensor<"o", write, tensor<?x?xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"counts", [0]>, #launch.scalar<"n", index>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @tiles(%counts: memref<?xi32, strided<[?]>>, %n: index, %out: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %x = arith.constant dense<1.0> : tensor<1x96xf32, #warp.lanes>
    %buffer = warp.alloc : !ring
    %p = warp.pipeline "diagonals" : !warp.pipeline<2>
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%stage = %z) -> i32 {
      %count = memref.load %counts[%j] : memref<?xi32, strided<[?]>>
      warp.producer_acquire %p[%stage, %z] : !warp.pipeline<2>
      %t = warp.stage %buffer[%stage] : !ring to !row
      warp.local_store "diagonals" %x to %t : tensor<1x96xf32, #warp.lanes>, !row
      warp.producer_commit %p[%stage, %z] : !warp.pipeline<2>
      warp.consumer_wait %p[%stage, %z] : !warp.pipeline<2>
      %l = warp.local_load %t : !row to tensor<1x96xf32, #own>
      warp.consumer_release %p[%stage, %z] : !warp.pipeline<2>
      %d = tile.diagonals %l : tensor<1x96xf32, #own> to tensor<64x32xf32, #warp.wgmma<groups = 1>>
      %a = arith.index_cast %count : i32 to index
      tile.store %d, %out[%a, %c0] dims [0, 1] : tensor<64x32xf32, #warp.wgmma<groups = 1>>, !out
      %next = arith.xori %stage, %one : i32
      scf.yield %next : i32
    }
    gpu.return
  }
}
