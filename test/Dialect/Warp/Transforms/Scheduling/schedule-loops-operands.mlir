// Operands with pipeline ops of their own, accumulators with ones, and operands that are changed
// between wait and dot.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits)))' --split-input-file | FileCheck %s

!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!ones = memref<16x8xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
!sums = tensor<128x8xf32, #tile.reg>
!both = tensor<128x40xf32, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!operand = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!acc = memref<128x128xf32, #warp.tmem>
!tile = tensor<128x128xf32, #tile.reg>
!one = !warp.pipeline<1>
gpu.module @m {
  // The accumulator of a late dot with ones is a concatenation of two loop-carried values, and the
  // dot returns both. The loop carries their rescaled concatenation; that of the first block folds
  // to one zero constant without another pass.
  // CHECK-LABEL: gpu.func @with_ones(
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
  launch.abi @with_ones target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @with_ones(%n: index) kernel {
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

  // A dot with ones that can't overlap stays synchronous.
  // CHECK-LABEL: gpu.func @alone
  // CHECK: scf.for
  // CHECK-NOT: warp.dot_wait
  // CHECK: warp.dot {{("[^"]+" )?}}%{{.*}}, %{{.*}}, %{{.*}} ones(%{{.*}} : memref<16x8xbf16
  launch.abi @alone target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @alone(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p = arith.constant dense<1.0> : !weights
    %zero = arith.constant dense<0.0> : !both
    %v = warp.alloc : !buffer
    %ones = warp.ones : !ones
    %ub = arith.maxsi %n, %c1 : index
    %r = scf.for %j = %c0 to %ub step %c1 iter_args(%acc = %zero) -> (!both) {
      %next = warp.dot "o" %p, %v, %acc ones(%ones : !ones) : !weights, !buffer, !both
      scf.yield %next : !both
    }
    gpu.return
  }

  // Pipeline ops of their own: the dots move.
  // CHECK-LABEL: gpu.func @apart
  // CHECK: warp.dot_into "s.0"
  // CHECK: warp.dot_into "s.1"
  // CHECK: scf.for
  // CHECK: scf.if
  // CHECK: warp.dot_into "s.0"
  // CHECK: scf.if
  // CHECK: warp.dot_into "s.1"
  launch.abi @apart target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, tile_n = 128, row_tiles = 1,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>],
       asked = ["overlap"]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @apart(%k: !memory) kernel {
    %no = arith.constant false
    %z = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %q = warp.alloc : !operand
    %s0 = warp.tmem_alloc column(0) : !acc
    %s1 = warp.tmem_alloc column(128) : !acc
    %p0 = warp.pipeline "s.0" : !one
    %p1 = warp.pipeline "s.1" : !one
    scf.for %j = %c0 to %c4 step %c1 {
      warp.producer_acquire %p0[%z, %z] : !one
      warp.dot_into "s.0" %q, %q, %s0 accumulate(%no) transpose_b : !operand, !operand, !acc
      warp.commit_after_dots %p0[%z, %z] : !one
      warp.producer_acquire %p1[%z, %z] : !one
      warp.dot_into "s.1" %q, %q, %s1 accumulate(%no) transpose_b : !operand, !operand, !acc
      warp.commit_after_dots %p1[%z, %z] : !one
      warp.consumer_wait %p0[%z, %z] : !one
      %x0 = warp.tmem_load %s0 : !acc to !tile
      warp.consumer_release %p0[%z, %z] : !one
      warp.consumer_wait %p1[%z, %z] : !one
      %x1 = warp.tmem_load %s1 : !acc to !tile
      warp.consumer_release %p1[%z, %z] : !one
    }
    gpu.return
  }

  // Rows of a late dot's operand are zeroed after the wait for it and before the dot, wherever the
  // dot moves.
  // CHECK-LABEL: gpu.func @zero_rows
  // CHECK: warp.dot async {{("[^"]+" )?}}{{.*}} transpose_b
  // CHECK: scf.for
  // CHECK: warp.dot async {{("[^"]+" )?}}{{.*}} transpose_b
  // CHECK: warp.consumer_wait %[[VP:[0-9]+]]
  // CHECK: scf.if
  // CHECK-NEXT: warp.zero_rows %[[V:[0-9]+]] from
  // CHECK: warp.dot async {{("[^"]+" )?}}%{{.*}}, %[[V]], %{{.*}} : tensor
  // CHECK: warp.dot_wait
  // CHECK: scf.yield
  // CHECK: warp.consumer_wait %[[VP]]
  // CHECK: scf.if
  // CHECK-NEXT: warp.zero_rows %[[V]] from
  // CHECK: warp.dot async {{("[^"]+" )?}}%{{.*}}, %[[V]], %{{.*}} : tensor
  launch.abi @zero_rows target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @zero_rows(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %z = arith.constant 0 : i32
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %vp = warp.pipeline "v" : !warp.pipeline<2>
    %ub = arith.maxsi %n, %c1 : index
    %end = scf.for %j = %c0 to %ub step %c1 iter_args(%acc = %zo) -> (!out) {
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
      %from = arith.subi %n, %j : index
      %ragged = arith.cmpi slt, %from, %c64 : index
      scf.if %ragged {
        warp.zero_rows %v from %from : !buffer
      }
      %o = warp.dot "o" %p, %v, %acc : !weights, !buffer, !out
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      scf.yield %o : !out
    }
    gpu.return
  }
}
