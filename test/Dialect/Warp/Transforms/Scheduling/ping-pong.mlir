// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-ping-pong)))' | FileCheck %s

!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
gpu.module @m {
  // A ping-pong section for each burst of dots without a wait in between; none for a single dot,
  // which follows its softmax.
  // CHECK-LABEL: gpu.func @turns
  // CHECK: %[[T:.*]] = warp.turns : !warp.turns<2>
  // CHECK: scf.for
  // CHECK-NEXT: warp.begin_turn %[[T]] : !warp.turns<2>
  // CHECK-NEXT: %[[S:.*]] = warp.dot async
  // CHECK-NEXT: %[[O:.*]] = warp.dot async
  // CHECK-NEXT: warp.end_turn %[[T]] : !warp.turns<2>
  // CHECK-NEXT: warp.dot_wait %[[S]]
  // CHECK-NEXT: warp.dot_wait %[[O]]
  // CHECK-NEXT: }
  // CHECK-NEXT: warp.dot async
  // CHECK-NEXT: warp.dot_wait
  // CHECK-NEXT: warp.dot %
  // CHECK-NEXT: warp.begin_turn %[[T]]
  // CHECK-NEXT: warp.dot async
  // CHECK-NEXT: warp.dot async
  // CHECK-NEXT: warp.end_turn %[[T]]
  // CHECK-NOT: warp.begin_turn
  // CHECK: gpu.return
  launch.abi @turns target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, ping_pong,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @turns(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %p = arith.constant dense<1.0> : !weights
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    scf.for %j = %c0 to %n step %c1 {
      %i1 = warp.dot async %q, %k, %zs transpose_b : !query, !buffer, !scores
      %i2 = warp.dot async %p, %v, %zo : !weights, !buffer, !out
      %s = warp.dot_wait %i1 : !warp.pending<!scores>
      %o = warp.dot_wait %i2 : !warp.pending<!out>
    }
    %i3 = warp.dot async %p, %v, %zo : !weights, !buffer, !out
    %o3 = warp.dot_wait %i3 : !warp.pending<!out>
    %s4 = warp.dot %q, %k, %zs transpose_b : !query, !buffer, !scores
    %i5 = warp.dot async %q, %k, %zs transpose_b : !query, !buffer, !scores
    %i6 = warp.dot async %p, %v, %zo : !weights, !buffer, !out
    %s5 = warp.dot_wait %i5 : !warp.pending<!scores>
    %o5 = warp.dot_wait %i6 : !warp.pending<!out>
    gpu.return
  }
}
