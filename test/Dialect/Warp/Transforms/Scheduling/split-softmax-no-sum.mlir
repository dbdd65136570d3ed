// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-softmax)))' | FileCheck %s
// RUN: sed 's/operand_above = 50/each_above/' %s | fovea-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-softmax)))' | FileCheck %s --check-prefix=EACH

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
!sums = tensor<128x8xf32, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
gpu.module @m {
  // Without a row sum, the wait stays after a sample of the columns.
  // CHECK-LABEL: gpu.func @no_sum
  // CHECK: %[[E:.*]] = math.exp2 %{{.*}} : tensor<128x32xf32
  // CHECK-NEXT: %[[SAMPLE:.*]] = warp.extract_columns %[[E]] from 24 : tensor<128x32xf32, #tile.reg> to tensor<128x8xf32, #tile.reg>
  // CHECK-NEXT: warp.dot_wait %{{.*}} above(%[[SAMPLE]] : tensor<128x8xf32, #tile.reg>) held(%[[E]] : tensor<128x32xf32, #tile.reg>)
  // If the plan requests it, the wait stays after each exponential.
  // EACH-LABEL: gpu.func @no_sum
  // EACH: %[[E:.*]] = math.exp2 %{{.*}} : tensor<128x64xf32
  // EACH-NEXT: warp.dot_wait %{{.*}} above(%[[E]] : tensor<128x64xf32, #tile.reg>) held(%[[E]] : tensor<128x64xf32, #tile.reg>)
  // EACH-NEXT: arith.truncf
  launch.abi @no_sum target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"o", operand_above = 50>], order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @no_sum(%g: !memory, %n: index) kernel {
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
      %p = arith.truncf %e : !scores to !weights
      %o = warp.dot_wait %i2 : !warp.pending<!out>
      scf.yield %p, %o, %l : !weights, !out, !sums
    }
    gpu.return
  }
}
