// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-overlap-dots,canonicalize,cse)))' | FileCheck %s

// PV does not depend on the row sums after it. They are nevertheless computed in the stage of P, so
// that the loop carries P in 16 bits and no S.
// CHECK-LABEL: gpu.func @sums
// CHECK: %[[E0:.*]] = math.exp2
// CHECK: %[[P0:.*]] = arith.truncf %[[E0]]
// CHECK: %[[L0:.*]] = tile.reduce add dim 1 %[[E0]]
// CHECK: scf.for {{.*}} -> (tensor<128x8xf32, #tile.reg>, tensor<128x32xf32, #tile.reg>, tensor<128x64xbf16, #tile.reg>) {
// CHECK: %[[PRODUCT:.*]] = warp.dot async {{("[^"]+" )?}}%{{.*}} : tensor<128x64xbf16
// CHECK: %[[E:.*]] = math.exp2
// CHECK: arith.truncf %[[E]]
// CHECK: tile.reduce add dim 1 %[[E]]
// CHECK: warp.dot_wait %[[PRODUCT]]
!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
!sums = tensor<128x8xf32, #tile.reg>
gpu.module @m {
  launch.abi @sums target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"s", ahead = 1>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @sums(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %zl = arith.constant dense<0.0> : !sums
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %vp = warp.pipeline "v" : !warp.pipeline<2>
    %ub = arith.maxsi %n, %c1 : index
    %r:2 = scf.for %j = %c0 to %ub step %c1 iter_args(%l = %zl, %acc = %zo) -> (!sums, !out) {
      warp.producer_acquire %kp[%z, %z] : !warp.pipeline<2>
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %k : !memory to !buffer
      warp.producer_commit %kp[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
      %s = warp.dot "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      warp.consumer_release %kp[%z, %z] : !warp.pipeline<2>
      %e = math.exp2 %s : !scores
      %p = arith.truncf %e : !scores to !weights
      warp.producer_acquire %vp[%z, %z] : !warp.pipeline<2>
      warp.copy async "v" %g[%j, %c0] dims [0, 1] to %v : !memory to !buffer
      warp.producer_commit %vp[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %vp[%z, %z] : !warp.pipeline<2>
      %o = warp.dot "o" %p, %v, %acc : !weights, !buffer, !out
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      %part = tile.reduce add dim 1 %e : !scores to !sums
      %l2 = arith.addf %l, %part : !sums
      scf.yield %l2, %o : !sums, !out
    }
    gpu.return
  }
}
