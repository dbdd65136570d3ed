// Tiles that cannot be chained.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-chain-tiles)))' --split-input-file --verify-diagnostics | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!queries = memref<2x128x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
gpu.module @m {
  // The next iteration depends on memory that this one may write.
  // CHECK-LABEL: gpu.func @impure
  // CHECK-NOT: warp.dot
  // CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (index, i32) -> (index, i32)
  // CHECK: warp.dot
  // CHECK-NOT: scf.if
  // CHECK: scf.condition
  launch.abi @impure target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic, chain = 1,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @impure(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %qs = warp.alloc : !queries
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %qp = warp.pipeline "q" : !warp.pipeline<2>
    %vp = warp.pipeline "v" : !warp.pipeline<2>
    %first = gpu.block_id x
    %flags = memref.alloca(%n) : memref<?xindex>
    %r:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      warp.consumer_wait %qp[%round, %z] : !warp.pipeline<2>
      %q = warp.stage %qs[%round] : !queries to !query
      %i = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      %p = arith.truncf %s : !scores to !weights
      %ub = arith.addi %item, %c1 : index
      %b:2 = scf.for %j = %c1 to %ub step %c1 iter_args(%w = %p, %acc = %zo) -> (!weights, !out) {
        %i1 = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
        %i2 = warp.dot async "o" %w, %v, %acc : !weights, !buffer, !out
        %s1 = warp.dot_wait %i1 : !warp.pending<!scores>
        %p1 = arith.truncf %s1 : !scores to !weights
        %o1 = warp.dot_wait %i2 : !warp.pending<!out>
        scf.yield %p1, %o1 : !weights, !out
      }
      warp.consumer_release %qp[%round, %z] : !warp.pipeline<2>
      warp.consumer_wait %vp[%z, %z] : !warp.pipeline<2>
      %i3 = warp.dot async "o" %b#0, %v, %b#1 : !weights, !buffer, !out
      %o3 = warp.dot_wait %i3 : !warp.pending<!out>
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      %o = arith.truncf %o3 : !out to tensor<128x32xbf16, #tile.reg>
      tile.store %o, %g[%item, %c0] dims [0, 1] : tensor<128x32xbf16, #tile.reg>, !memory
      %next = warp.next_work %round : index
      %rounds = arith.addi %round, %one : i32
      %flag = memref.load %flags[%next] : memref<?xindex>
      %more = arith.cmpi ult, %flag, %n : index
      scf.condition(%more) %next, %rounds : index, i32
    } do {
    ^bb0(%item: index, %round: i32):
      scf.yield %item, %round : index, i32
    }
    gpu.return
  }

  // No dot of the next tile could be outstanding.
  // CHECK-LABEL: gpu.func @no_scores
  // CHECK-NOT: warp.dot
  // CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (index, i32) -> (index, i32)
  // CHECK: warp.dot
  // CHECK-NOT: scf.if
  // CHECK: scf.condition
  launch.abi @no_scores target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic, chain = 1,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @no_scores(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %qs = warp.alloc : !queries
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %qp = warp.pipeline "q" : !warp.pipeline<2>
    %vp = warp.pipeline "v" : !warp.pipeline<2>
    %first = gpu.block_id x
    %r:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      warp.consumer_wait %qp[%round, %z] : !warp.pipeline<2>
      %q = warp.stage %qs[%round] : !queries to !query
      %s = warp.dot "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      %p = arith.truncf %s : !scores to !weights
      %ub = arith.addi %item, %c1 : index
      %b:2 = scf.for %j = %c1 to %ub step %c1 iter_args(%w = %p, %acc = %zo) -> (!weights, !out) {
        %i1 = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
        %i2 = warp.dot async "o" %w, %v, %acc : !weights, !buffer, !out
        %s1 = warp.dot_wait %i1 : !warp.pending<!scores>
        %p1 = arith.truncf %s1 : !scores to !weights
        %o1 = warp.dot_wait %i2 : !warp.pending<!out>
        scf.yield %p1, %o1 : !weights, !out
      }
      warp.consumer_release %qp[%round, %z] : !warp.pipeline<2>
      warp.consumer_wait %vp[%z, %z] : !warp.pipeline<2>
      %i3 = warp.dot async "o" %b#0, %v, %b#1 : !weights, !buffer, !out
      %o3 = warp.dot_wait %i3 : !warp.pending<!out>
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      %o = arith.truncf %o3 : !out to tensor<128x32xbf16, #tile.reg>
      tile.store %o, %g[%item, %c0] dims [0, 1] : tensor<128x32xbf16, #tile.reg>, !memory
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

  // A loop over blocks without overlap has no outstanding dot at its end.
  // CHECK-LABEL: gpu.func @not_overlapped
  // CHECK-NOT: warp.dot
  // CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (index, i32) -> (index, i32)
  // CHECK: warp.dot
  // CHECK-NOT: scf.if
  // CHECK: scf.condition
  launch.abi @not_overlapped target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic, chain = 1,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @not_overlapped(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %qs = warp.alloc : !queries
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %qp = warp.pipeline "q" : !warp.pipeline<2>
    %vp = warp.pipeline "v" : !warp.pipeline<2>
    %first = gpu.block_id x
    %r:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      warp.consumer_wait %qp[%round, %z] : !warp.pipeline<2>
      %q = warp.stage %qs[%round] : !queries to !query
      %s = warp.dot "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      %p = arith.truncf %s : !scores to !weights
      %ub = arith.addi %item, %c1 : index
      %b:2 = scf.for %j = %c1 to %ub step %c1 iter_args(%w = %p, %acc = %zo) -> (!weights, !out) {
        %s1 = warp.dot "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
        %o1 = warp.dot "o" %w, %v, %acc : !weights, !buffer, !out
        %p1 = arith.truncf %s1 : !scores to !weights
        scf.yield %p1, %o1 : !weights, !out
      }
      warp.consumer_release %qp[%round, %z] : !warp.pipeline<2>
      warp.consumer_wait %vp[%z, %z] : !warp.pipeline<2>
      %o3 = warp.dot "o" %b#0, %v, %b#1 : !weights, !buffer, !out
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      %o = arith.truncf %o3 : !out to tensor<128x32xbf16, #tile.reg>
      tile.store %o, %g[%item, %c0] dims [0, 1] : tensor<128x32xbf16, #tile.reg>, !memory
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

  // Two loops over blocks: the last loop of the tile is ambiguous.
  // CHECK-LABEL: gpu.func @two_loops
  // CHECK-NOT: warp.dot
  // CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (index, i32) -> (index, i32)
  // CHECK: warp.dot
  // CHECK-NOT: scf.if
  // CHECK: scf.condition
  launch.abi @two_loops target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic, chain = 1,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @two_loops(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %qs = warp.alloc : !queries
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %qp = warp.pipeline "q" : !warp.pipeline<2>
    %vp = warp.pipeline "v" : !warp.pipeline<2>
    %first = gpu.block_id x
    %r:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      warp.consumer_wait %qp[%round, %z] : !warp.pipeline<2>
      %q = warp.stage %qs[%round] : !queries to !query
      %i = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      %p = arith.truncf %s : !scores to !weights
      %ub = arith.addi %item, %c1 : index
      %b:2 = scf.for %j = %c1 to %ub step %c1 iter_args(%w = %p, %acc = %zo) -> (!weights, !out) {
        %i1 = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
        %i2 = warp.dot async "o" %w, %v, %acc : !weights, !buffer, !out
        %s1 = warp.dot_wait %i1 : !warp.pending<!scores>
        %p1 = arith.truncf %s1 : !scores to !weights
        %o1 = warp.dot_wait %i2 : !warp.pending<!out>
        scf.yield %p1, %o1 : !weights, !out
      }
      %b2:2 = scf.for %j = %c1 to %ub step %c1 iter_args(%w = %p, %acc = %zo) -> (!weights, !out) {
        %i1 = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
        %i2 = warp.dot async "o" %w, %v, %acc : !weights, !buffer, !out
        %s1 = warp.dot_wait %i1 : !warp.pending<!scores>
        %p1 = arith.truncf %s1 : !scores to !weights
        %o1 = warp.dot_wait %i2 : !warp.pending<!out>
        scf.yield %p1, %o1 : !weights, !out
      }
      warp.consumer_release %qp[%round, %z] : !warp.pipeline<2>
      warp.consumer_wait %vp[%z, %z] : !warp.pipeline<2>
      %i3 = warp.dot async "o" %b#0, %v, %b#1 : !weights, !buffer, !out
      %o3 = warp.dot_wait %i3 : !warp.pending<!out>
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      %o = arith.truncf %o3 : !out to tensor<128x32xbf16, #tile.reg>
      tile.store %o, %g[%item, %c0] dims [0, 1] : tensor<128x32xbf16, #tile.reg>, !memory
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
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @no_abi() kernel {
    gpu.return
  }
}
