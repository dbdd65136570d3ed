// Softmax that is not split.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-softmax)))' --split-input-file --verify-diagnostics | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
!sums = tensor<128x8xf32, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
!number = tensor<1x192xf32, #warp.lanes>
!rounded = tensor<1x192xbf16, #warp.lanes>
gpu.module @m {
  // No tile is rounded while the dot is outstanding.
  // CHECK-LABEL: gpu.func @nothing_under
  // CHECK: arith.truncf
  // CHECK: warp.dot async
  // CHECK-NEXT: warp.dot_wait %{{[0-9]+}} : !warp.pending
  launch.abi @nothing_under target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"o", operand_above = 25>], order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @nothing_under(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %zl = arith.constant dense<0.0> : !sums
    %m = arith.constant dense<2.0> : !rows
    %scale = arith.constant dense<0.5> : !scores
    %p0 = arith.constant dense<0.0> : !weights
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%w = %p0, %acc = %zo, %l = %zl) -> (!weights, !out, !sums) {
      %s = warp.dot %q, %k, %zs transpose_b : !query, !buffer, !scores
      %mb = tile.broadcast %m : !rows to !scores
      %d = math.fma %s, %scale, %mb : !scores
      %e = math.exp2 %d : !scores
      %sum = tile.reduce add dim 1 %e : !scores to !sums
      %l2 = arith.addf %l, %sum : !sums
      %p = arith.truncf %e : !scores to !weights
      %i2 = warp.dot async "o" %w, %v, %acc : !weights, !buffer, !out
      %o = warp.dot_wait %i2 : !warp.pending<!out>
      scf.yield %p, %o, %l2 : !weights, !out, !sums
    }
    gpu.return
  }

  // Another role rounds relative-position values while the dot is outstanding, too: they are not P.
  // CHECK-LABEL: gpu.func @others
  // CHECK: %[[E:.*]] = math.exp2 %{{.*}} : tensor<128x64xf32
  // CHECK: arith.truncf %{{.*}} : tensor<1x192xf32, #warp.lanes> to tensor<1x192xbf16, #warp.lanes>
  // CHECK: warp.dot_wait %{{.*}} above(%[[E]] : tensor<128x64xf32, #tile.reg>) held(%[[E]] : tensor<128x64xf32, #tile.reg>)
  // CHECK-NEXT: arith.truncf
  launch.abi @others target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"o", each_above>], order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @others(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %m = arith.constant dense<2.0> : !rows
    %scale = arith.constant dense<0.5> : !scores
    %x0 = arith.constant dense<0.0> : !rounded
    %p0 = arith.constant dense<0.0> : !weights
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%w = %p0, %acc = %zo, %x = %x0) -> (!weights, !out, !rounded) {
      %i1 = warp.dot async %q, %k, %zs transpose_b : !query, !buffer, !scores
      %i2 = warp.dot async "o" %w, %v, %acc : !weights, !buffer, !out
      %s = warp.dot_wait %i1 : !warp.pending<!scores>
      %mb = tile.broadcast %m : !rows to !scores
      %d = math.fma %s, %scale, %mb : !scores
      %e = math.exp2 %d : !scores
      %p = arith.truncf %e : !scores to !weights
      %f = arith.extf %x : !rounded to !number
      %t = math.tanh %f : !number
      %y = arith.truncf %t : !number to !rounded
      %o = warp.dot_wait %i2 : !warp.pending<!out>
      scf.yield %p, %o, %y : !weights, !out, !rounded
    }
    gpu.return
  }

  // P with another use is not split.
  // CHECK-LABEL: gpu.func @used
  // CHECK-NOT: warp.extract_columns
  // CHECK: warp.dot_wait {{.*}} held(%{{.*}} : tensor<128x64xf32, #tile.reg>)
  // CHECK-NEXT: arith.truncf
  // CHECK-NOT: warp.extract_columns
  launch.abi @used target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"o", operand_above = 25>], order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @used(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %zl = arith.constant dense<0.0> : !sums
    %m = arith.constant dense<2.0> : !rows
    %scale = arith.constant dense<0.5> : !scores
    %p0 = arith.constant dense<0.0> : !weights
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%w = %p0, %acc = %zo, %l = %zl) -> (!weights, !out, !sums) {
      %i1 = warp.dot async %q, %k, %zs transpose_b : !query, !buffer, !scores
      %i2 = warp.dot async "o" %w, %v, %acc : !weights, !buffer, !out
      %s = warp.dot_wait %i1 : !warp.pending<!scores>
      %mb = tile.broadcast %m : !rows to !scores
      %d = math.fma %s, %scale, %mb : !scores
      %e = math.exp2 %d : !scores
      %also = arith.negf %e : !scores
      %sum = tile.reduce add dim 1 %e : !scores to !sums
      %l2 = arith.addf %l, %sum : !sums
      %p = arith.truncf %e : !scores to !weights
      %o = warp.dot_wait %i2 : !warp.pending<!out>
      scf.yield %p, %o, %l2 : !weights, !out, !sums
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
