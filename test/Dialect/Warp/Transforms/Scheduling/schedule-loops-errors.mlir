// Illegal orders: the message names both ops and the dependence.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops)))' --split-input-file --verify-diagnostics

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
gpu.module @m {
  // A score depends on the accumulator.
  launch.abi @depends target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @depends(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
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
      %l = tile.reduce add dim 1 %acc : !out to !rows
      %start = tile.broadcast %l : !rows to !scores
      // expected-error @+1 {{the plan's order is illegal: 's' must run after 'o.done' of iteration i - 1, because it depends on its result, but the order lists 's' before 'o.done'}}
      %s = warp.dot "s" %q, %k, %start transpose_b : !query, !buffer, !scores
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
      // expected-note @+1 {{the other op is here}}
      %o = warp.dot "o" %p, %v, %scaled : !weights, !buffer, !out
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      scf.yield %m2, %o : !rows, !out
    }
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
gpu.module @m {
  // The weights are computed one iteration later than the dot that reads them.
  launch.abi @operand target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["o" + 1, "s"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @operand(%g: !memory, %n: index) kernel {
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
      // expected-note @+1 {{the other op is here}}
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
      // expected-error @+1 {{the plan's order is illegal: 'o' must run after 's' of the same iteration, because it depends on its result, but the order lets it run 1 iteration earlier}}
      %o = warp.dot "o" %p, %v, %scaled : !weights, !buffer, !out
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      scf.yield %m2, %o : !rows, !out
    }
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
gpu.module @m {
  // A wait before its dot.
  launch.abi @listed target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["s" + 1, "o.done", "o"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @listed(%g: !memory, %n: index) kernel {
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
      // expected-error @+2 {{the plan's order is illegal: 'o.done' must run after 'o' of the same iteration, because it uses its result, but the order lists 'o.done' before 'o'}}
      // expected-note @+1 {{the other op is here}}
      %o = warp.dot "o" %p, %v, %scaled : !weights, !buffer, !out
      warp.consumer_release %vp[%z, %z] : !warp.pipeline<2>
      scf.yield %m2, %o : !rows, !out
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
!half = tensor<64x64xbf16, #tile.reg>
gpu.module @m {
  // A stage that is acquired one iteration before its commit.
  launch.abi @commit target("sm_90a") plan(<#warp.wgmma_unit, order = ["s" + 1, "s.done" + 1, "w.store" + 1, "w.done", "o"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @commit() kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %z = arith.constant 0 : i32
    %zero = arith.constant dense<0.0> : !acc
    %k = warp.alloc : !tile
    %ws = warp.alloc : !ring
    %p = warp.pipeline "w" : !warp.pipeline<2>
    %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!acc) {
      %s = warp.dot "s" %k, %k, %zero : !tile, !tile, !acc
      %h = arith.truncf %s : !acc to !half
      // expected-note @+1 {{the other op is here}}
      warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
      %w = warp.stage %ws[%z] : !ring to !tile
      warp.local_store "w" %h to %w : !half, !tile
      warp.fence_stores %w : !tile
      // expected-error @+1 {{the plan's order is illegal: 'w.done' must have the stage of 'warp.producer_acquire' of "w", which it commits, but they are 0 and 1}}
      warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
      %o = warp.dot "o" %w, %k, %acc : !tile, !tile, !acc
      warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
      scf.yield %o : !acc
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
!half = tensor<64x64xbf16, #tile.reg>
gpu.module @m {
  // A buffer that no release protects is filled again only after its last read.
  launch.abi @overwritten target("sm_90a") plan(<#warp.wgmma_unit, order = ["s" + 1, "s.done" + 1, "w.store" + 1, "w.done" + 1, "o", "o.done"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @overwritten() kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : !acc
    %k = warp.alloc : !tile
    %w = warp.alloc : !tile
    %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!acc) {
      %s = warp.dot "s" %k, %k, %zero : !tile, !tile, !acc
      %h = arith.truncf %s : !acc to !half
      // expected-error @+1 {{the plan's order is illegal: 'w.store' must run after 'o.done' of iteration i - 1, because both access the same memory, but the order lists 'w.store' before 'o.done'}}
      warp.local_store "w" %h to %w : !half, !tile
      warp.fence_stores %w : !tile
      // expected-note @+1 {{the other op is here}}
      %o = warp.dot "o" %w, %k, %acc : !tile, !tile, !acc
      scf.yield %o : !acc
    }
    gpu.return
  }
}
