// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-hold-across-waits)))' | FileCheck %s

!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
gpu.module @m {
  // A 16-bit operand is widened after the next wait, which keeps the 16-bit tile live.
  // CHECK-LABEL: gpu.func @widened(
  // CHECK: %[[P:.*]] = arith.constant dense<1.000000e+00> : tensor<128x64xbf16
  // CHECK: %[[S:.*]] = warp.dot async
  // CHECK: warp.dot async "o" %[[P]]
  // CHECK-NOT: arith.extf
  // CHECK: %{{.*}}, %[[HELD:.*]]:2 = warp.dot_wait %[[S]] held(%[[E:.*]], %[[P]] :
  // CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[HELD]]#1
  // CHECK: arith.mulf %{{.*}}, %[[WIDE]]
  // CHECK: arith.addf %{{.*}}, %[[HELD]]#0
  launch.abi @widened target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @widened() kernel {
    %p = arith.constant dense<1.0> : !weights
    %e = arith.constant dense<2.0> : !scores
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %s = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
    %o = warp.dot async "o" %p, %k, %zo : !weights, !buffer, !out
    %wide = arith.extf %p : !weights to !scores
    %scores, %held = warp.dot_wait %s held(%e : !scores) : !warp.pending<!scores>
    %product = arith.mulf %scores, %wide : !scores
    %sum = arith.addf %product, %held : !scores
    %out = warp.dot_wait %o : !warp.pending<!out>
    gpu.return
  }
}
