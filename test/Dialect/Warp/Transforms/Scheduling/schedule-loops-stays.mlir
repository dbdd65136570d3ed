// Dots that cannot overlap.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits)))' --split-input-file --verify-diagnostics | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
gpu.module @m {
  // A dot that is already asynchronous, with its wait elsewhere.
  // CHECK-LABEL: gpu.func @carried
  // CHECK: scf.for
  // CHECK: warp.dot async
  // CHECK: warp.dot {{("[^"]+" )?}}%
  // CHECK: scf.yield
  launch.abi @carried target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @carried(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %ub = arith.maxsi %n, %c1 : index
    %i = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
    %t:2 = scf.for %j = %c0 to %ub step %c1 iter_args(%acc = %zo, %x = %i) -> (!out, !warp.pending<!scores>) {
      %s = warp.dot_wait %x : !warp.pending<!scores>
      %p = arith.truncf %s : !scores to !weights
      %y = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      %o = warp.dot "o" %p, %v, %acc : !weights, !buffer, !out
      scf.yield %o, %y : !out, !warp.pending<!scores>
    }
    %last = warp.dot_wait %t#1 : !warp.pending<!scores>
    gpu.return
  }

  // All first operands are in registers: there is no S to prefetch.
  // CHECK-LABEL: gpu.func @only_late
  // CHECK-NOT: warp.dot async
  // CHECK: scf.for
  // CHECK: warp.dot {{("[^"]+" )?}}%{{.*}} transpose_b
  // CHECK: warp.dot {{("[^"]+" )?}}%
  // CHECK: scf.yield
  // CHECK-NOT: warp.dot
  launch.abi @only_late target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @only_late(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %least = arith.constant dense<0xFF800000> : !rows
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
      %p0 = arith.truncf %acc : !out to tensor<128x32xbf16, #tile.reg>
      %s = warp.dot %p0, %k, %zs transpose_b : tensor<128x32xbf16, #tile.reg>, !buffer, !scores
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

// -----

!operand = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!acc = memref<128x128xf32, #warp.tmem>
!tile = tensor<128x128xf32, #tile.reg>
!one = !warp.pipeline<1>
!memory = memref<?x32xbf16, strided<[?, 1]>>
!ring = memref<2x128x32xbf16, #warp.shared<row_bytes = 64>>
!two = !warp.pipeline<2>
gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @no_abi() kernel {
    gpu.return
  }

  // A pipeline op that serves two dots can't move with each of them: they stay, which is an error
  // for a user-specified option. Here it is one commit after two dots.
  launch.abi @one_commit target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, tile_n = 128, row_tiles = 1,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>],
       asked = ["overlap"]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @one_commit() kernel {
    %no = arith.constant false
    %z = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %q = warp.alloc : !operand
    %s0 = warp.tmem_alloc column(0) : !acc
    %s1 = warp.tmem_alloc column(128) : !acc
    %p = warp.pipeline "s" : !one
    // expected-error @+1 {{schedule's 'overlap' is user-specified but cannot be applied: no dot of the loop can be issued early}}
    scf.for %j = %c0 to %c4 step %c1 {
      warp.producer_acquire %p[%z, %z] : !one
      warp.dot_into "s.0" %q, %q, %s0 accumulate(%no) transpose_b : !operand, !operand, !acc
      warp.dot_into "s.1" %q, %q, %s1 accumulate(%no) transpose_b : !operand, !operand, !acc
      warp.commit_after_dots %p[%z, %z] : !one
      warp.consumer_wait %p[%z, %z] : !one
      %x0 = warp.tmem_load %s0 : !acc to !tile
      %x1 = warp.tmem_load %s1 : !acc to !tile
      warp.consumer_release %p[%z, %z] : !one
    }
    gpu.return
  }

  // The same for a pipeline op that serves two operands: one pipeline for the rings of both.
  launch.abi @one_pipeline target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, tile_n = 128, row_tiles = 1,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>],
       asked = ["overlap"]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @one_pipeline(%k: !memory) kernel {
    %no = arith.constant false
    %z = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %lefts = warp.alloc : !ring
    %rights = warp.alloc : !ring
    %s = warp.tmem_alloc column(0) : !acc
    %ps = warp.pipeline "s" : !one
    %pk = warp.pipeline "k" : !two
    // expected-error @+1 {{schedule's 'overlap' is user-specified but cannot be applied: no dot of the loop can be issued early}}
    scf.for %j = %c0 to %c4 step %c1 {
      %left = warp.stage %lefts[%z] : !ring to !operand
      %right = warp.stage %rights[%z] : !ring to !operand
      warp.producer_acquire %pk[%z, %z] : !two
      warp.copy async "k" %k[%j, %c0] dims [0, 1] to %left : !memory to !operand
      warp.copy async "k" %k[%j, %c0] dims [0, 1] to %right : !memory to !operand
      warp.producer_commit %pk[%z, %z] : !two
      warp.consumer_wait %pk[%z, %z] : !two
      warp.producer_acquire %ps[%z, %z] : !one
      warp.dot_into "s" %left, %right, %s accumulate(%no) transpose_b : !operand, !operand, !acc
      warp.commit_after_dots %ps[%z, %z] : !one
      warp.release_after_dots %pk[%z, %z] : !two
      warp.consumer_wait %ps[%z, %z] : !one
      %x = warp.tmem_load %s : !acc to !tile
      warp.consumer_release %ps[%z, %z] : !one
    }
    gpu.return
  }

  // The waits for dots that are asynchronous already are no steps.
  launch.abi @asynchronous target("sm_90a") plan(<#warp.wgmma_unit,
       order = ["s" + 1, "o", "s.done" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>],
       asked = ["overlap"]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @asynchronous() kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #tile.reg>
    %a = warp.alloc : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    // expected-error @+1 {{schedule's 'overlap' is user-specified but cannot be applied: the loop contains asynchronous dots}}
    %r = scf.for %j = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32, #tile.reg>) {
      %s = warp.dot async "s" %a, %a, %zero : memref<64x64xbf16, #warp.shared<row_bytes = 128>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, tensor<64x64xf32, #tile.reg>
      %x = warp.dot_wait %s : !warp.pending<tensor<64x64xf32, #tile.reg>>
      %o = warp.dot "o" %a, %a, %acc : memref<64x64xbf16, #warp.shared<row_bytes = 128>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, tensor<64x64xf32, #tile.reg>
      scf.yield %o : tensor<64x64xf32, #tile.reg>
    }
    gpu.return
  }
}
