// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  // Shared memory is allocated before the roles. One role gets the copies with their acquires and
  // commits, the other role all other ops. Each role's loop carries only the values that the role
  // needs. The launch has the warps of both.
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
}
