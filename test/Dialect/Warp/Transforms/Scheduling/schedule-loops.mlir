// S of the next block is issued before PV of the previous block.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits,canonicalize,cse)))' --split-input-file | FileCheck %s
// RUN: sed 's/order = .*\],//' %s | fovea-opt --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits,canonicalize,cse)))' | FileCheck %s --check-prefix=NOTHING
// RUN: sed 's/to %c3/to %n/' %s | fovea-opt --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits,canonicalize,cse)))' | FileCheck %s --check-prefix=NOTHING

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
!sums = tensor<128x8xf32, #tile.reg>
gpu.module @m {
  // S of the first block precedes the loop. Its rescale is of a zero accumulator and folds away.
  // CHECK-LABEL: gpu.func @overlap
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
  // CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<128x32xf32
  // CHECK: %[[Q:.*]] = warp.alloc : memref<128x32xbf16
  // CHECK: %[[K:.*]] = warp.alloc : memref<64x32xbf16
  // CHECK: %[[V:.*]] = warp.alloc : memref<64x32xbf16
  // CHECK: %[[KP:.*]] = warp.pipeline
  // CHECK: %[[VP:.*]] = warp.pipeline
  // CHECK: %[[UB:.*]] = arith.maxsi
  // CHECK: warp.producer_acquire %[[KP]]
  // CHECK: warp.copy async "k" %{{.*}} to %[[K]]
  // CHECK: warp.producer_commit %[[KP]]
  // CHECK: warp.consumer_wait %[[KP]]
  // CHECK: %[[FIRST:.*]] = warp.dot async "s" %[[Q]], %[[K]], %{{.*}} transpose_b
  // CHECK: %[[S0:.*]] = warp.dot_wait %[[FIRST]]
  // CHECK-DAG: warp.consumer_release %[[KP]]
  // CHECK-DAG: %[[M0:.*]] = tile.reduce max dim 1 %[[S0]]
  // CHECK-DAG: %[[E0:.*]] = math.exp2 %[[S0]]
  // CHECK-DAG: %[[P0:.*]] = arith.truncf %[[E0]]
  // CHECK-NOT: arith.mulf
  // CHECK-NOT: %[[VP]]
  // CHECK: %[[R:.*]]:3 = scf.for %[[J:.*]] = %[[C1]] to %[[UB]] step %[[C1]] iter_args(%[[M:.*]] = %[[M0]], %[[P:.*]] = %[[P0]], %[[ACC:.*]] = %[[ZEROS]])
  // S of this block is issued, then PV of the previous block.
  // CHECK: %[[LAST:.*]] = arith.subi %[[J]], %[[C1]] : index
  // CHECK: warp.producer_acquire %[[KP]]
  // CHECK: warp.copy async "k" %{{.*}}[%[[J]], %{{.*}}] dims [0, 1] to %[[K]]
  // CHECK: warp.producer_commit %[[KP]]
  // CHECK: warp.consumer_wait %[[KP]]
  // CHECK: %[[SCORES:.*]] = warp.dot async "s" %[[Q]], %[[K]]
  // CHECK-NOT: warp.dot_wait
  // CHECK: warp.producer_acquire %[[VP]]
  // CHECK: warp.copy async "v" %{{.*}}[%[[LAST]], %{{.*}}] dims [0, 1] to %[[V]]
  // CHECK: warp.producer_commit %[[VP]]
  // CHECK: warp.consumer_wait %[[VP]]
  // CHECK-NOT: warp.dot_wait
  // CHECK: %[[PRODUCT:.*]] = warp.dot async "o" %[[P]], %[[V]], %[[ACC]]
  // Softmax of this block.
  // CHECK-NOT: warp.dot_wait %[[PRODUCT]]
  // CHECK: %[[S:.*]] = warp.dot_wait %[[SCORES]]
  // CHECK: warp.consumer_release %[[KP]]
  // CHECK-NOT: warp.dot_wait
  // CHECK: tile.reduce max dim 1 %[[S]]
  // CHECK-DAG: %[[M1:.*]] = arith.maximumf %[[M]],
  // CHECK-DAG: %[[E:.*]] = math.exp2 %[[S]]
  // CHECK-DAG: %[[P1:.*]] = arith.truncf %[[E]]
  // CHECK-DAG: arith.subf %[[M]], %[[M1]]
  // The wait for PV of the previous block follows.
  // CHECK: %[[O:.*]] = warp.dot_wait %[[PRODUCT]]
  // CHECK: warp.consumer_release %[[VP]]
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[O]],
  // CHECK: scf.yield %[[M1]], %[[P1]], %[[SCALED]]
  // PV of the last block.
  // CHECK: warp.producer_acquire %[[VP]]
  // CHECK: warp.copy async "v" %{{.*}} to %[[V]]
  // CHECK-NEXT: warp.producer_commit %[[VP]]
  // CHECK-NEXT: warp.consumer_wait %[[VP]]
  // CHECK-NEXT: %[[END:.*]] = warp.dot async {{("[^"]+" )?}}%[[R]]#1, %[[V]], %[[R]]#2
  // CHECK-NEXT: warp.dot_wait %[[END]]
  // CHECK-NEXT: warp.consumer_release %[[VP]]
  // CHECK-NEXT: gpu.return
  launch.abi @overlap target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @overlap(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %least = arith.constant dense<0xFF800000> : !rows
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %vp = warp.pipeline "v" : !warp.pipeline<2>
    %ub = arith.maxsi %n, %c1 : index
    %r:2 = scf.for %j = %c0 to %ub step %c1 iter_args(%m = %least, %acc = %zo) -> (!rows, !out) {
      warp.producer_acquire %kp[%z, %z] : !warp.pipeline<2>
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %k : !memory to !buffer
      warp.producer_commit %kp[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
      %s = warp.dot "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      warp.consumer_release %kp[%z, %z] : !warp.pipeline<2>
      %top = tile.reduce max dim 1 %s : !scores to !rows
      %m2 = arith.maximumf %m, %top : !rows
      %e = math.exp2 %s : !scores
      %p = arith.truncf %e : !scores to !weights
      %f = arith.subf %m, %m2 : !rows
      %fb = tile.broadcast %f : !rows to !out
      %scaled = arith.mulf %acc, %fb : !out
      warp.producer_acquire %vp[%z, %z] : !warp.pipeline<2>
      warp.copy async "v" %g[%j, %c0] dims [0, 1] to %v : !memory to !buffer
      warp.producer_commit %vp[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %vp[%z, %z] : !warp.pipeline<2>
      %o = warp.dot "o" %p, %v, %scaled : !weights, !buffer, !out
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      scf.yield %m2, %o : !rows, !out
    }
    gpu.return
  }

  // PV does not depend on the row sums after it. They are nevertheless computed in the stage of P,
  // so that the loop carries P in 16 bits and no S.
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
  launch.abi @sums target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
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

  // Ops on the result of PV stay with it: here the accumulator is divided in each step
  // (recurrence=normalized).
  // CHECK-LABEL: gpu.func @normalized
  // CHECK: %[[S:.*]] = warp.dot async
  // CHECK: scf.for
  // CHECK: %[[NEXT:.*]] = warp.dot async
  // CHECK: %[[T:.*]] = warp.dot async
  // CHECK: warp.dot_wait %[[NEXT]]
  // CHECK: math.exp2
  // CHECK: %[[O:.*]] = warp.dot_wait %[[T]]
  // CHECK: %[[DIVIDED:.*]] = arith.divf %[[O]]
  // CHECK: %[[RESCALED:.*]] = arith.mulf %[[DIVIDED]]
  // CHECK: scf.yield
  // CHECK: warp.dot async
  // CHECK: warp.dot_wait
  launch.abi @normalized target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @normalized(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %least = arith.constant dense<0xFF800000> : !rows
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %vp = warp.pipeline "v" : !warp.pipeline<2>
    %c3 = arith.constant 3 : index
    %r:2 = scf.for %j = %c0 to %c3 step %c1 iter_args(%m = %least, %acc = %zo) -> (!rows, !out) {
      warp.producer_acquire %kp[%z, %z] : !warp.pipeline<2>
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %k : !memory to !buffer
      warp.producer_commit %kp[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
      %s = warp.dot "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      warp.consumer_release %kp[%z, %z] : !warp.pipeline<2>
      %top = tile.reduce max dim 1 %s : !scores to !rows
      %m2 = arith.maximumf %m, %top : !rows
      %e = math.exp2 %s : !scores
      %p = arith.truncf %e : !scores to !weights
      %f = arith.subf %m, %m2 : !rows
      %fb = tile.broadcast %f : !rows to !out
      %scaled = arith.mulf %acc, %fb : !out
      warp.producer_acquire %vp[%z, %z] : !warp.pipeline<2>
      warp.copy async "v" %g[%j, %c0] dims [0, 1] to %v : !memory to !buffer
      warp.producer_commit %vp[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %vp[%z, %z] : !warp.pipeline<2>
      %o = warp.dot "o" %p, %v, %scaled : !weights, !buffer, !out
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      %d = arith.divf %o, %fb : !out
      scf.yield %m2, %d : !rows, !out
    }
    gpu.return
  }

  // Done if the schedule requests it and the loop provably runs at least once; here two constants
  // prove it.
  // CHECK-LABEL: gpu.func @runs
  // CHECK: warp.dot async
  // CHECK: scf.for
  // CHECK: warp.dot async
  // CHECK: warp.dot async
  // CHECK: scf.yield
  // CHECK: warp.dot async
  // NOTHING-LABEL: gpu.func @runs
  // NOTHING-NOT: warp.dot async
  // NOTHING: scf.for
  // NOTHING: warp.dot {{("[^"]+" )?}}%{{.*}} transpose_b
  // NOTHING: warp.dot {{("[^"]+" )?}}%
  // NOTHING: scf.yield
  // NOTHING-NOT: warp.dot
  launch.abi @runs target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @runs(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %least = arith.constant dense<0xFF800000> : !rows
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %vp = warp.pipeline "v" : !warp.pipeline<2>
    %c3 = arith.constant 3 : index
    %r:2 = scf.for %j = %c0 to %c3 step %c1 iter_args(%m = %least, %acc = %zo) -> (!rows, !out) {
      warp.producer_acquire %kp[%z, %z] : !warp.pipeline<2>
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %k : !memory to !buffer
      warp.producer_commit %kp[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
      %s = warp.dot "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      warp.consumer_release %kp[%z, %z] : !warp.pipeline<2>
      %top = tile.reduce max dim 1 %s : !scores to !rows
      %m2 = arith.maximumf %m, %top : !rows
      %e = math.exp2 %s : !scores
      %p = arith.truncf %e : !scores to !weights
      %f = arith.subf %m, %m2 : !rows
      %fb = tile.broadcast %f : !rows to !out
      %scaled = arith.mulf %acc, %fb : !out
      warp.producer_acquire %vp[%z, %z] : !warp.pipeline<2>
      warp.copy async "v" %g[%j, %c0] dims [0, 1] to %v : !memory to !buffer
      warp.producer_commit %vp[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %vp[%z, %z] : !warp.pipeline<2>
      %o = warp.dot "o" %p, %v, %scaled : !weights, !buffer, !out
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      scf.yield %m2, %o : !rows, !out
    }
    gpu.return
  }
}
