// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  // One role fetches the work index where the program requests it, after its own part of the
  // iteration, and sends it to the other role.
  // CHECK-LABEL: gpu.func @work
  // CHECK: %[[MAIL:.*]] = warp.mailbox : !warp.mailbox<2>
  // CHECK-NEXT: %[[RING:.*]] = warp.pipeline {{("[^"]+" )?}}: !warp.pipeline<2>
  // CHECK-NEXT: warp.specialize captures({{.*}}, %[[MAIL]], %[[RING]] :
  // CHECK-NEXT: role @load
  // CHECK-NEXT: ^bb0({{.*}}, %[[BOX:.*]]: !warp.mailbox<2>, %[[P:.*]]: !warp.pipeline<2>):
  // CHECK: scf.while (%[[ITEM:.*]] = %{{.*}}, %[[ROUND:.*]] = %{{.*}}) : (index, i32) -> (index, i32)
  // CHECK-NOT: warp.fetch_work
  // CHECK: %[[ROW:.*]] = arith.addi %[[ITEM]],
  // CHECK: warp.copy async {{("[^"]+" )?}}%{{.*}}[%[[ROW]],
  // CHECK: %[[SLOT:.*]] = arith.andi %[[ROUND]], %{{.*}} : i32
  // CHECK: %[[TURNS:.*]] = arith.divui %[[ROUND]], %{{.*}} : i32
  // CHECK: %[[PHASE:.*]] = arith.andi %[[TURNS]], %{{.*}} : i32
  // CHECK-NEXT: warp.producer_acquire %[[P]][%[[SLOT]], %[[PHASE]]]
  // CHECK-NEXT: %[[W:.*]] = warp.fetch_work : index
  // CHECK-NEXT: warp.send %[[W]] to %[[BOX]][%[[SLOT]]]
  // CHECK-NEXT: warp.producer_commit %[[P]][%[[SLOT]], %[[PHASE]]]
  // CHECK: %[[MORE:.*]] = arith.cmpi ult, %[[W]],
  // CHECK-NEXT: scf.condition(%[[MORE]]) %[[W]],
  // CHECK: warp.finish_work
  // CHECK-NEXT: warp.return
  // CHECK: role @compute
  // CHECK-NEXT: ^bb0({{.*}}, %[[BOX:.*]]: !warp.mailbox<2>, %[[P:.*]]: !warp.pipeline<2>):
  // CHECK: scf.while (%[[ITEM:.*]] = %{{.*}}, %[[ROUND:.*]] = %{{.*}}) : (index, i32) -> (index, i32)
  // CHECK-NOT: warp.copy
  // CHECK: tile.store {{("[^"]+" )?}}%{{.*}}, %{{.*}}[%[[ITEM]],
  // CHECK: warp.consumer_wait %[[P]][%[[SLOT:.*]], %[[PHASE:.*]]]
  // CHECK-NEXT: %[[W:.*]] = warp.receive %[[BOX]][%[[SLOT]]]
  // CHECK-NEXT: warp.consumer_release %[[P]][%[[SLOT]], %[[PHASE]]]
  // CHECK: %[[MORE:.*]] = arith.cmpi ult, %[[W]],
  // CHECK-NEXT: scf.condition(%[[MORE]]) %[[W]],
  // CHECK-NOT: warp.next_work
  // CHECK-NOT: warp.finish_work
  // CHECK: warp.return
  launch.abi @work target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @work(%g: !memory, %n: index, %out: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %first = gpu.block_id x
    %w:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      %stage = arith.andi %round, %one : i32
      %acc = arith.negf %zs : !scores
      %j = arith.addi %item, %c1 : index
      warp.producer_acquire %kp[%stage, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%stage] : !staged to !buffer
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%stage, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%stage, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%stage] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %acc transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%stage, %z] : !warp.pipeline<2>
      %t = arith.truncf %s : !scores to tensor<128x64xbf16, #warp.wgmma<groups = 2>>
      tile.store %t, %out[%item, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
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
