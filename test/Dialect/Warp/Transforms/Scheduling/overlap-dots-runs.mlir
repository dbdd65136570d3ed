// Done if the schedule requests it and the loop provably runs at least once; here two constants
// prove it.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-overlap-dots,canonicalize,cse)))' | FileCheck %s
// RUN: sed 's/dots = .*>\],//' %s | fovea-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-overlap-dots,canonicalize,cse)))' | FileCheck %s --check-prefix=NOTHING
// RUN: sed 's/to %c3/to %n/' %s | fovea-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-overlap-dots,canonicalize,cse)))' | FileCheck %s --check-prefix=NOTHING

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
gpu.module @m {
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
       dots = [<"s", ahead = 1>],
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
