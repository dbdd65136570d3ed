// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-overlap-dots)))' | FileCheck %s

!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!ones = memref<16x8xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
!sums = tensor<128x8xf32, #tile.reg>
!both = tensor<128x40xf32, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
gpu.module @m {
  // The accumulator of a late dot with ones is a concatenation of two loop-carried values, and the
  // dot returns both. The loop carries their rescaled concatenation; that of the first block folds
  // to one zero constant without another pass.
  // CHECK-LABEL: gpu.func @f(
  // CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<128x40xf32, #tile.reg>
  // CHECK: warp.dot async
  // CHECK-NOT: warp.concat_columns
  // CHECK: %[[R:.*]]:{{[0-9]+}} = scf.for {{.*}} iter_args({{.*}}%[[ACC:[a-z0-9]+]] = %[[ZEROS]]
  // CHECK: %[[SCORES:.*]] = warp.dot async {{("[^"]+" )?}}{{.*}} transpose_b
  // CHECK-NEXT: %[[PRODUCT:.*]] = warp.dot async {{("[^"]+" )?}}%{{.*}}, %{{.*}}, %[[ACC]] ones(
  // CHECK-NEXT: warp.dot_wait %[[SCORES]]
  // CHECK: %[[OL:.*]] = warp.dot_wait %[[PRODUCT]]
  // CHECK-DAG: %[[O:.*]] = warp.extract_columns %[[OL]] from 0
  // CHECK-DAG: %[[L:.*]] = warp.extract_columns %[[OL]] from 32
  // CHECK-DAG: %[[OS:.*]] = arith.mulf %[[O]],
  // CHECK-DAG: %[[LS:.*]] = arith.mulf %[[L]],
  // CHECK: %[[NEXT:.*]] = warp.concat_columns %[[OS]], %[[LS]]
  // CHECK: scf.yield {{.*}}%[[NEXT]]
  // CHECK: %[[END:.*]] = warp.dot async {{("[^"]+" )?}}%[[R]]#{{[0-9]+}}, %{{.*}}, %[[R]]#{{[0-9]+}} ones(
  // CHECK-NEXT: warp.dot_wait %[[END]]
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"s", ahead = 1>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %zl = arith.constant dense<0.0> : !sums
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %ones = warp.ones : !ones
    %ub = arith.maxsi %n, %c1 : index
    %r:2 = scf.for %j = %c0 to %ub step %c1 iter_args(%acc = %zo, %sum = %zl) -> (!out, !sums) {
      %s = warp.dot "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      %top = tile.reduce max dim 1 %s : !scores to !rows
      %p = arith.truncf %s : !scores to !weights
      %fo = tile.broadcast %top : !rows to !out
      %fl = tile.broadcast %top : !rows to !sums
      %os = arith.mulf %acc, %fo : !out
      %ls = arith.mulf %sum, %fl : !sums
      %both = warp.concat_columns %os, %ls : !out, !sums to !both
      %ol = warp.dot "o" %p, %v, %both ones(%ones : !ones) : !weights, !buffer, !both
      %o = warp.extract_columns %ol from 0 : !both to !out
      %l = warp.extract_columns %ol from 32 : !both to !sums
      scf.yield %o, %l : !out, !sums
    }
    gpu.return
  }
}
