// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  // Each role keeps only the results of a branch that it needs.
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
}
