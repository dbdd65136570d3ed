// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
!out = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
gpu.module @m {
  // What lies in shared memory is made before the roles; copies with their acquire
  // and commit go to one, everything else to the other. Each role's loop carries
  // what its own work needs. The launch has the warps of both.
  // CHECK: launch.abi @loop
  // CHECK-SAME: threads(384)
  // CHECK-LABEL: gpu.func @loop
  // CHECK-SAME: %[[G:.*]]: memref<{{.*}}>, %[[N:.*]]: index, %[[RESULT:.*]]: memref
  // CHECK-DAG: %[[Q:.*]] = warp.alloc : memref<128x32xbf16
  // CHECK-DAG: %[[KS:.*]] = warp.alloc : memref<2x64x32xbf16
  // CHECK-DAG: %[[KP:.*]] = warp.pipeline
  // CHECK: warp.specialize captures(%[[KP]], %[[N]], %[[G]], %[[KS]], %[[Q]], %[[RESULT]] :
  // CHECK-NEXT: role @load warps(4) regs(24) {
  // CHECK-NEXT: ^bb0(%[[P:.*]]: !warp.pipeline<2>, %[[UB:.*]]: index, %[[FROM:[a-z0-9]*]]: memref<{{.*}}>, %[[TO:[a-z0-9]*]]: memref<2x64x32xbf16, {{.*}}>, %{{.*}}: memref<128x32xbf16, {{.*}}>, %{{.*}}: memref<{{.*}}>):
  // CHECK-NOT: arith.constant dense
  // CHECK: scf.for %[[J:.*]] = %{{.*}} to %[[UB]] step %{{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}) -> (i32) {
  // CHECK: warp.producer_acquire %[[P]][%[[STAGE]], %{{.*}}]
  // CHECK: %[[SLOT:.*]] = warp.stage %[[TO]][%[[STAGE]]]
  // CHECK: warp.copy async {{("[^"]+" )?}}%[[FROM]][%[[J]], %{{.*}}] dims [0, 1] to %[[SLOT]]
  // CHECK: warp.producer_commit %[[P]][%[[STAGE]], %{{.*}}]
  // CHECK-NOT: {{warp.consumer|warp.stage|warp.dot|tile.store}}
  // CHECK: %[[NEXT:.*]] = arith.xori %[[STAGE]],
  // CHECK: scf.yield %[[NEXT]] : i32
  // CHECK-NEXT: }
  // CHECK-NEXT: warp.return
  // CHECK-NEXT: }
  // CHECK-NEXT: role @compute warps(8) regs(240) {
  // CHECK-NEXT: ^bb0(%[[P:.*]]: !warp.pipeline<2>, %[[UB:.*]]: index, %{{[a-z0-9]*}}: memref<{{.*}}>, %[[FROM:[a-z0-9]*]]: memref<2x64x32xbf16, {{.*}}>, %[[LEFT:[a-z0-9]*]]: memref<128x32xbf16, {{.*}}>, %[[OUT:[a-z0-9]*]]: memref<{{.*}}>):
  // CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[STAGE:.*]] = %{{.*}}) -> (tensor<{{.*}}>, i32) {
  // CHECK-NOT: {{warp.producer|warp.copy}}
  // CHECK: warp.consumer_wait %[[P]][%[[STAGE]], %{{.*}}]
  // CHECK: %[[SLOT:.*]] = warp.stage %[[FROM]][%[[STAGE]]]
  // CHECK: %[[I:.*]] = warp.dot async "s" %[[LEFT]], %[[SLOT]], %[[ACC]]
  // CHECK: %[[S:.*]] = warp.dot_wait %[[I]]
  // CHECK: warp.consumer_release %[[P]][%[[STAGE]], %{{.*}}]
  // CHECK: %[[NEXT:.*]] = arith.xori %[[STAGE]],
  // CHECK: scf.yield %[[S]], %[[NEXT]]
  // CHECK-NEXT: }
  // CHECK-NOT: {{warp.producer|warp.copy}}
  // CHECK: %[[O:.*]] = arith.truncf %[[R]]#0
  // CHECK: tile.store %[[O]], %[[OUT]]
  // CHECK-NEXT: warp.return
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.return
  launch.abi @loop target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @loop(%g: !memory, %n: index, %out: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zs, %stage = %z) -> (!scores, i32) {
      warp.producer_acquire %kp[%stage, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%stage] : !staged to !buffer
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%stage, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%stage, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%stage] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %acc transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%stage, %z] : !warp.pipeline<2>
      %next = arith.xori %stage, %one : i32
      scf.yield %s, %next : !scores, i32
    }
    %o = arith.truncf %r#0 : !scores to tensor<128x64xbf16, #warp.wgmma<groups = 2>>
    tile.store %o, %out[%c0, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
    gpu.return
  }

  // Work: one role fetches it where the program asks for it, behind its own part of
  // the round, and sends it to the other.
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

  // Of a branch, each role has the results that it needs.
  // CHECK-LABEL: gpu.func @branch
  // CHECK: role @load
  // CHECK: %[[X:.*]] = scf.if %{{.*}} -> (i32) {
  // CHECK: warp.copy async
  // CHECK: scf.yield %{{.*}} : i32
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %{{.*}} : i32
  // CHECK: warp.producer_acquire %{{.*}}[%[[X]], %{{.*}}]
  // CHECK: role @compute
  // CHECK: %[[Y:.*]] = scf.if %{{.*}} -> (tensor<128x64xf32, {{.*}}>) {
  // CHECK-NOT: warp.copy
  // CHECK: warp.dot_wait
  // CHECK: } else {
  // CHECK: arith.truncf %[[Y]]
  launch.abi @branch target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @branch(%g: !memory, %n: index, %out: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %some = arith.cmpi ult, %c1, %n : index
    %x:2 = scf.if %some -> (!scores, i32) {
      warp.producer_acquire %kp[%z, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%z] : !staged to !buffer
      warp.copy async "k" %g[%c0, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%z] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%z, %z] : !warp.pipeline<2>
      scf.yield %s, %one : !scores, i32
    } else {
      scf.yield %zs, %z : !scores, i32
    }
    warp.producer_acquire %kp[%x#1, %z] : !warp.pipeline<2>
    warp.producer_commit %kp[%x#1, %z] : !warp.pipeline<2>
    warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
    %o = arith.truncf %x#0 : !scores to tensor<128x64xbf16, #warp.wgmma<groups = 2>>
    tile.store %o, %out[%c0, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
    gpu.return
  }

  // Without roles all warps run one program.
  // CHECK: launch.abi @no_roles
  // CHECK-SAME: threads(256)
  // CHECK-LABEL: gpu.func @no_roles
  // CHECK-NOT: warp.specialize
  // CHECK: scf.for
  // CHECK: warp.copy async
  // CHECK: warp.dot async
  launch.abi @no_roles target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @no_roles(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zs, %stage = %z) -> (!scores, i32) {
      warp.producer_acquire %kp[%stage, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%stage] : !staged to !buffer
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%stage, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%stage, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%stage] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %acc transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%stage, %z] : !warp.pipeline<2>
      %next = arith.xori %stage, %one : i32
      scf.yield %s, %next : !scores, i32
    }
    gpu.return
  }

  // What nobody reads is waited for and released by whoever has the rest.
  // CHECK-LABEL: gpu.func @nobody_reads
  // CHECK: role @load
  // CHECK: warp.copy async
  // CHECK-NOT: warp.consumer
  // CHECK: role @compute
  // CHECK: warp.consumer_wait
  // CHECK: warp.consumer_release
  // CHECK: tile.store
  launch.abi @nobody_reads target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @nobody_reads(%g: !memory, %out: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %o = arith.constant dense<0.0> : !out
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %k = warp.stage %ks[%z] : !staged to !buffer
    warp.producer_acquire %kp[%z, %z] : !warp.pipeline<2>
    warp.copy async "k" %g[%c0, %c0] dims [0, 1] to %k : !memory to !buffer
    warp.producer_commit %kp[%z, %z] : !warp.pipeline<2>
    warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
    warp.consumer_release %kp[%z, %z] : !warp.pipeline<2>
    tile.store %o, %out[%c0, %c0] dims [0, 1] : !out, !memory
    gpu.return
  }
}
