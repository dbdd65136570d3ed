// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  // Without roles, all warps run one program.
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
}
