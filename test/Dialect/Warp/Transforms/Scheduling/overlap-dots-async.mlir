// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-overlap-dots,canonicalize,cse)))' | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
gpu.module @m {
  // A dot that is already asynchronous, with its wait elsewhere.
  // CHECK-LABEL: gpu.func @carried
  // CHECK: scf.for
  // CHECK: warp.dot async
  // CHECK: warp.dot {{("[^"]+" )?}}%
  // CHECK: scf.yield
  launch.abi @carried target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"s", ahead = 1>],
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
}
