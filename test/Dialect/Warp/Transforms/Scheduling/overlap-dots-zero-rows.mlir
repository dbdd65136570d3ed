// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-overlap-dots,canonicalize)))' | FileCheck %s

// Rows of a late dot's operand are zeroed after the wait for it and before the dot, wherever the
// dot moves.
// CHECK-LABEL: gpu.func @f
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
!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"s", ahead = 1>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%g: !memory, %n: index) kernel {
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
