// The first S of the next tile is issued before the last PV of this one.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-chain-tiles)))' | FileCheck %s
// RUN: sed 's/chain = 1,//' %s | fovea-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-chain-tiles)))' | FileCheck %s --check-prefix=NOT_WANTED

!memory = memref<?x32xbf16, strided<[?, 1]>>
!queries = memref<2x128x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
gpu.module @m {
  // The first S of the first tile precedes the loop over work.
  // CHECK-LABEL: gpu.func @chain
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[QS:.*]] = warp.alloc : memref<2x128x32xbf16
  // CHECK: %[[K:.*]] = warp.alloc : memref<64x32xbf16
  // CHECK: %[[V:.*]] = warp.alloc : memref<64x32xbf16
  // CHECK-DAG: %[[QP:.*]] = warp.pipeline "q"
  // CHECK-DAG: %[[VP:.*]] = warp.pipeline "v"
  // CHECK: %[[FIRST:.*]] = gpu.block_id x
  // CHECK-NOT: %[[VP]]
  // CHECK: warp.consumer_wait %[[QP]][%[[ZERO]],
  // CHECK: %[[Q0:.*]] = warp.stage %[[QS]][%[[ZERO]]]
  // CHECK: %[[I0:.*]] = warp.dot async "s" %[[Q0]], %[[K]]
  // CHECK-DAG: %[[S0:.*]] = warp.dot_wait %[[I0]]
  // CHECK-DAG: %[[P0:.*]] = arith.truncf %[[S0]]
  // CHECK-DAG: %[[UB0:.*]] = arith.addi %[[FIRST]],
  // Values of the head that the loop over blocks needs are carried; the view is not.
  // CHECK: scf.while (%[[ITEM:.*]] = %[[FIRST]], %[[ROUND:.*]] = %[[ZERO]], %[[UB:.*]] = %[[UB0]], %[[P:.*]] = %[[P0]])
  // CHECK-NOT: warp.dot
  // CHECK: %[[Q:.*]] = warp.stage %[[QS]][%[[ROUND]]]
  // CHECK: %[[BLOCKS:.*]]:2 = scf.for %{{.*}} = %{{.*}} to %[[UB]] step %{{.*}} iter_args(%{{.*}} = %[[P]],
  // CHECK: warp.dot async "s" %[[Q]], %[[K]]
  // CHECK: scf.yield
  // Stages that only the loop over blocks reads are released before the next tile waits.
  // CHECK-DAG: %[[NEXT:.*]] = warp.next_work %[[ROUND]] : index
  // CHECK-DAG: %[[ROUNDS:.*]] = arith.addi %[[ROUND]],
  // CHECK-DAG: %[[MORE:.*]] = arith.cmpi ult, %[[NEXT]],
  // CHECK-DAG: warp.consumer_release %[[QP]][%[[ROUND]],
  // CHECK: %[[GO:.*]]:4 = scf.if %[[MORE]]
  // The next S is issued, then this tile's PV, without a wait in between.
  // CHECK: warp.consumer_wait %[[QP]][%[[ROUNDS]],
  // CHECK: %[[Q1:.*]] = warp.stage %[[QS]][%[[ROUNDS]]]
  // CHECK: %[[I1:.*]] = warp.dot async "s" %[[Q1]], %[[K]]
  // CHECK-NOT: warp.dot_wait
  // CHECK: warp.consumer_wait %[[VP]]
  // CHECK-NOT: warp.dot_wait
  // CHECK: %[[I2:.*]] = warp.dot async "o" %[[BLOCKS]]#0, %[[V]], %[[BLOCKS]]#1
  // CHECK: %[[S1:.*]] = warp.dot_wait %[[I1]]
  // CHECK-NOT: warp.dot_wait
  // CHECK-DAG: %[[P1:.*]] = arith.truncf %[[S1]]
  // CHECK-DAG: %[[UB1:.*]] = arith.addi %[[NEXT]],
  // The output of this tile is stored while S is outstanding.
  // CHECK: %[[O:.*]] = warp.dot_wait %[[I2]]
  // CHECK-DAG: warp.consumer_release %[[VP]]
  // CHECK-DAG: %[[ROUNDED:.*]] = arith.truncf %[[O]]
  // CHECK-DAG: tile.store %[[ROUNDED]], %{{.*}}[%[[ITEM]],
  // CHECK: scf.yield %[[NEXT]], %[[ROUNDS]], %[[UB1]], %[[P1]]
  // The last tile has no successor.
  // CHECK-NEXT: } else {
  // CHECK-NOT: "s"
  // CHECK: warp.consumer_wait %[[VP]]
  // CHECK-NOT: "s"
  // CHECK: %[[I3:.*]] = warp.dot async "o" %[[BLOCKS]]#0, %[[V]], %[[BLOCKS]]#1
  // CHECK: %[[O3:.*]] = warp.dot_wait %[[I3]]
  // CHECK-DAG: warp.consumer_release %[[VP]]
  // CHECK-DAG: %[[LAST:.*]] = arith.truncf %[[O3]]
  // CHECK-DAG: tile.store %[[LAST]], %{{.*}}[%[[ITEM]],
  // The results are unused: no tile from the start of the iteration is kept live.
  // CHECK-DAG: %[[UNREAD:.*]] = arith.constant dense<0.000000e+00> : tensor<128x64xbf16, #tile.reg>
  // CHECK: scf.yield %[[NEXT]], %[[ROUNDS]], %[[UB]], %[[UNREAD]]
  // CHECK-NEXT: }
  // CHECK: scf.condition(%[[MORE]]) %[[GO]]#0, %[[GO]]#1, %[[GO]]#2, %[[GO]]#3
  // The schedule disables it.
  // NOT_WANTED-LABEL: gpu.func @chain
  // NOT_WANTED-NOT: warp.dot
  // NOT_WANTED: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (index, i32) -> (index, i32)
  // NOT_WANTED: warp.dot
  // NOT_WANTED-NOT: scf.if
  // NOT_WANTED: scf.condition
  launch.abi @chain target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic, chain = 1,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @chain(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %qs = warp.alloc : !queries
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %qp = warp.pipeline "q" : !warp.pipeline<2>
    %vp = warp.pipeline "v" : !warp.pipeline<2>
    %first = gpu.block_id x
    %r:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      warp.consumer_wait %qp[%round, %z] : !warp.pipeline<2>
      %q = warp.stage %qs[%round] : !queries to !query
      %i = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      %p = arith.truncf %s : !scores to !weights
      %ub = arith.addi %item, %c1 : index
      %b:2 = scf.for %j = %c1 to %ub step %c1 iter_args(%w = %p, %acc = %zo) -> (!weights, !out) {
        %i1 = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
        %i2 = warp.dot async "o" %w, %v, %acc : !weights, !buffer, !out
        %s1 = warp.dot_wait %i1 : !warp.pending<!scores>
        %p1 = arith.truncf %s1 : !scores to !weights
        %o1 = warp.dot_wait %i2 : !warp.pending<!out>
        scf.yield %p1, %o1 : !weights, !out
      }
      warp.consumer_release %qp[%round, %z] : !warp.pipeline<2>
      warp.consumer_wait %vp[%z, %z] : !warp.pipeline<2>
      %i3 = warp.dot async "o" %b#0, %v, %b#1 : !weights, !buffer, !out
      %o3 = warp.dot_wait %i3 : !warp.pending<!out>
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      %o = arith.truncf %o3 : !out to tensor<128x32xbf16, #tile.reg>
      tile.store %o, %g[%item, %c0] dims [0, 1] : tensor<128x32xbf16, #tile.reg>, !memory
      %next = warp.next_work %round : index
      %rounds = arith.addi %round, %one : i32
      %more = arith.cmpi ult, %next, %n : index
      scf.condition(%more) %next, %rounds : index, i32
    } do {
    ^bb0(%item: index, %round: i32):
      scf.yield %item, %round : index, i32
    }
    gpu.return
  }
}
