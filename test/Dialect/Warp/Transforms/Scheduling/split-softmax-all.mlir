// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-softmax)))' | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
!sums = tensor<128x8xf32, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
gpu.module @m {
  // All exponentials before the wait for PV, all rounding after it.
  // CHECK-LABEL: gpu.func @all
  // CHECK: scf.for
  // CHECK: warp.dot async
  // CHECK: %[[PRODUCT:.*]] = warp.dot async
  // CHECK: %[[E:.*]] = math.exp2
  // CHECK: %[[SUM:.*]] = tile.reduce add dim 1 %[[E]]
  // CHECK-NOT: arith.truncf
  // CHECK: %[[O:.*]], %[[HELD:.*]] = warp.dot_wait %[[PRODUCT]] above(%[[SUM]] : tensor<128x8xf32, #tile.reg>) held(%[[E]] : tensor<128x64xf32, #tile.reg>)
  // CHECK: %[[P:.*]] = arith.truncf %[[HELD]]
  // CHECK: scf.yield %[[P]], %[[O]],
  launch.abi @all target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"s", ahead = 1>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @all(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %zl = arith.constant dense<0.0> : !sums
    %m = arith.constant dense<2.0> : !rows
    %scale = arith.constant dense<0.5> : !scores
    %p0 = arith.constant dense<0.0> : !weights
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%w = %p0, %acc = %zo, %l = %zl) -> (!weights, !out, !sums) {
      %i1 = warp.dot async %q, %k, %zs transpose_b : !query, !buffer, !scores
      %i2 = warp.dot async "o" %w, %v, %acc : !weights, !buffer, !out
      %s = warp.dot_wait %i1 : !warp.pending<!scores>
      %mb = tile.broadcast %m : !rows to !scores
      %d = math.fma %s, %scale, %mb : !scores
      %e = math.exp2 %d : !scores
      %sum = tile.reduce add dim 1 %e : !scores to !sums
      %l2 = arith.addf %l, %sum : !sums
      %p = arith.truncf %e : !scores to !weights
      %o = warp.dot_wait %i2 : !warp.pending<!out>
      scf.yield %p, %o, %l2 : !weights, !out, !sums
    }
    gpu.return
  }
}
