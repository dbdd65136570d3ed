// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-overlap-dots)))' | FileCheck %s

!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!ones = memref<16x8xbf16, #warp.shared<row_bytes = 64>>
!weights = tensor<128x64xbf16, #tile.reg>
!both = tensor<128x40xf32, #tile.reg>
gpu.module @m {
  // A dot with ones that can't overlap stays synchronous.
  // CHECK-LABEL: gpu.func @alone
  // CHECK: scf.for
  // CHECK-NOT: warp.dot_wait
  // CHECK: warp.dot {{("[^"]+" )?}}%{{.*}}, %{{.*}}, %{{.*}} ones(%{{.*}} : memref<16x8xbf16
  launch.abi @alone target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"s", ahead = 1>],
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
}
