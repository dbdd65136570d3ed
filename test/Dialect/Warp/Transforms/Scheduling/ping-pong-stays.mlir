// Kernels without ping-pong sections: not requested, no roles, a single warp group, or no bursts of
// dots.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-ping-pong)))' --split-input-file --verify-diagnostics | FileCheck %s

!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
gpu.module @m {
  // The schedule disables it.
  // CHECK-LABEL: gpu.func @not_wanted
  // CHECK-NOT: warp.turns
  // CHECK-NOT: warp.begin_turn
  // CHECK: gpu.return
  launch.abi @not_wanted target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @not_wanted(%n: index) kernel {
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %p = arith.constant dense<1.0> : !weights
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %i1 = warp.dot async %q, %k, %zs transpose_b : !query, !buffer, !scores
    %i2 = warp.dot async %p, %v, %zo : !weights, !buffer, !out
    %s = warp.dot_wait %i1 : !warp.pending<!scores>
    %o = warp.dot_wait %i2 : !warp.pending<!out>
    gpu.return
  }

  // Without roles, all warps synchronise anyway.
  // CHECK-LABEL: gpu.func @no_roles
  // CHECK-NOT: warp.turns
  // CHECK-NOT: warp.begin_turn
  // CHECK: gpu.return
  launch.abi @no_roles target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, ping_pong>)
    tensors([]) parameters([#launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @no_roles(%n: index) kernel {
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %p = arith.constant dense<1.0> : !weights
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %i1 = warp.dot async %q, %k, %zs transpose_b : !query, !buffer, !scores
    %i2 = warp.dot async %p, %v, %zo : !weights, !buffer, !out
    %s = warp.dot_wait %i1 : !warp.pending<!scores>
    %o = warp.dot_wait %i2 : !warp.pending<!out>
    gpu.return
  }

  // A single warp group has no other group to alternate with.
  // CHECK-LABEL: gpu.func @one_group
  // CHECK-NOT: warp.turns
  // CHECK-NOT: warp.begin_turn
  // CHECK: gpu.return
  launch.abi @one_group target("sm_90a") plan(<#warp.wgmma_unit, ping_pong,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @one_group(%n: index) kernel {
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %p = arith.constant dense<1.0> : !weights
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %i1 = warp.dot async %q, %k, %zs transpose_b : !query, !buffer, !scores
    %i2 = warp.dot async %p, %v, %zo : !weights, !buffer, !out
    %s = warp.dot_wait %i1 : !warp.pending<!scores>
    %o = warp.dot_wait %i2 : !warp.pending<!out>
    gpu.return
  }

  // No bursts: no ping-pong sections.
  // CHECK-LABEL: gpu.func @no_bursts
  // CHECK-NOT: turn{{s|_}}
  // CHECK: gpu.return
  launch.abi @no_bursts target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, ping_pong,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @no_bursts(%n: index) kernel {
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %p = arith.constant dense<1.0> : !weights
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %i3 = warp.dot async %p, %v, %zo : !weights, !buffer, !out
    %o3 = warp.dot_wait %i3 : !warp.pending<!out>
    %s4 = warp.dot %q, %k, %zs transpose_b : !query, !buffer, !scores
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
