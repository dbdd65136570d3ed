// The exponentials are split around the wait for PV.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-softmax)))' --split-input-file | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
!weights = tensor<128x64xbf16, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
!sums = tensor<128x8xf32, #tile.reg>
!out = tensor<128x32xf32, #tile.reg>
gpu.module @m {
  // A quarter of the columns before the wait, the others after it, next to the rounding.
  // CHECK-LABEL: gpu.func @quarter
  // CHECK: %[[M:.*]] = arith.constant dense<2.000000e+00> : tensor<128x1xf32
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[L:.*]] = %{{.*}})
  // CHECK: %[[SCORES:.*]] = warp.dot async
  // CHECK: %[[PRODUCT:.*]] = warp.dot async
  // CHECK: %[[S:.*]] = warp.dot_wait %[[SCORES]]
  // A quarter of the columns before the wait, with its row sum.
  // CHECK-DAG: %[[S1:.*]] = warp.extract_columns %[[S]] from 0 : tensor<128x64xf32, #tile.reg> to tensor<128x16xf32, #tile.reg>
  // CHECK-DAG: %[[C1:.*]] = arith.constant dense<5.000000e-01> : tensor<128x16xf32, #tile.reg>
  // CHECK-DAG: %[[B1:.*]] = tile.broadcast %[[M]] : tensor<128x1xf32, #tile.reg> to tensor<128x16xf32, #tile.reg>
  // CHECK: %[[D1:.*]] = math.fma %[[S1]], %[[C1]], %[[B1]] : tensor<128x16xf32
  // CHECK: %[[E1:.*]] = math.exp2 %[[D1]] : tensor<128x16xf32
  // CHECK: %[[SUM1:.*]] = tile.reduce add dim 1 %[[E1]]
  // CHECK-NOT: math.exp2
  // CHECK-NOT: arith.truncf
  // CHECK: %[[O:.*]], %[[HELD:.*]] = warp.dot_wait %[[PRODUCT]] above(%[[SUM1]] : {{.*}}) held(%[[E1]] : tensor<128x16xf32, #tile.reg>)
  // The other columns after it.
  // CHECK: %[[S2:.*]] = warp.extract_columns %[[S]] from 16 : tensor<128x64xf32, #tile.reg> to tensor<128x48xf32, #tile.reg>
  // CHECK: %[[E2:.*]] = math.exp2 %{{.*}} : tensor<128x48xf32
  // CHECK-DAG: %[[L1:.*]] = arith.addf %[[L]], %[[SUM1]]
  // CHECK-DAG: %[[SUM2:.*]] = tile.reduce add dim 1 %[[E2]]
  // CHECK-DAG: %[[L2:.*]] = arith.addf %[[L1]], %[[SUM2]]
  // CHECK-DAG: %[[E:.*]] = warp.concat_columns %[[HELD]], %[[E2]]
  // CHECK-DAG: %[[P:.*]] = arith.truncf %[[E]]
  // CHECK: scf.yield %[[P]], %[[O]], %[[L2]]
  launch.abi @quarter target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"o", operand_above = 25>], order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @quarter(%g: !memory, %n: index) kernel {
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
      %sum = tile.reduce add dim 1 %e : !scores to !sums
      %l2 = arith.addf %l, %sum : !sums
      %p = arith.truncf %e : !scores to !weights
      %o = warp.dot_wait %i2 : !warp.pending<!out>
      scf.yield %p, %o, %l2 : !weights, !out, !sums
    }
    gpu.return
  }

  // All exponentials before the wait for PV, all rounding after it.
  // CHECK-LABEL: gpu.func @all
  // CHECK: scf.for
  // CHECK: warp.dot async
  // CHECK: %[[PRODUCT:.*]] = warp.dot async
  // CHECK: %[[E:.*]] = math.exp2
  // CHECK: %[[SUM:.*]] = tile.reduce add dim 1 %[[E]]
  // CHECK-NOT: arith.truncf
  // CHECK: %[[O:.*]], %[[HELD:.*]] = warp.dot_wait %[[PRODUCT]] above(%[[SUM]] : tensor<128x8xf32, #tile.reg>) held(%[[E]] : tensor<128x64xf32, #tile.reg>)
  // CHECK: %[[P:.*]] = arith.truncf %[[HELD]]
  // CHECK: scf.yield %[[P]], %[[O]],
  launch.abi @all target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @all(%g: !memory, %n: index) kernel {
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
      %sum = tile.reduce add dim 1 %e : !scores to !sums
      %l2 = arith.addf %l, %sum : !sums
      %p = arith.truncf %e : !scores to !weights
      %o = warp.dot_wait %i2 : !warp.pending<!out>
      scf.yield %p, %o, %l2 : !weights, !out, !sums
    }
    gpu.return
  }

  // At the end of a tile, all exponentials run before the wait.
  // CHECK-LABEL: gpu.func @end
  // CHECK-NOT: warp.extract_columns
  // CHECK: warp.dot_wait {{.*}} held(%{{.*}} : tensor<128x64xf32, #tile.reg>)
  // CHECK-NEXT: arith.truncf
  launch.abi @end target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"o", operand_above = 25>], order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @end(%g: !memory, %n: index) kernel {
    %zs = arith.constant dense<0.0> : !scores
    %zo = arith.constant dense<0.0> : !out
    %zl = arith.constant dense<0.0> : !sums
    %m = arith.constant dense<2.0> : !rows
    %scale = arith.constant dense<0.5> : !scores
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %w = arith.constant dense<1.0> : !weights
    %i1 = warp.dot async %q, %k, %zs transpose_b : !query, !buffer, !scores
    %i2 = warp.dot async "o" %w, %v, %zo : !weights, !buffer, !out
    %s = warp.dot_wait %i1 : !warp.pending<!scores>
    %mb = tile.broadcast %m : !rows to !scores
    %d = math.fma %s, %scale, %mb : !scores
    %e = math.exp2 %d : !scores
    %sum = tile.reduce add dim 1 %e : !scores to !sums
    %l2 = arith.addf %zl, %sum : !sums
    %p = arith.truncf %e : !scores to !weights
    %o = warp.dot_wait %i2 : !warp.pending<!out>
    %x = warp.dot %p, %v, %zo : !weights, !buffer, !out
    gpu.return
  }

  // An op whose operand is used twice is computed once for each part.
  // CHECK-LABEL: gpu.func @squares
  // CHECK: math.exp2 %{{.*}} : tensor<128x16xf32
  // CHECK-COUNT-40: arith.mulf %{{.*}} : tensor<128x16xf32
  // CHECK-NOT: arith.mulf
  // CHECK: warp.dot_wait
  // CHECK: math.exp2 %{{.*}} : tensor<128x48xf32
  // CHECK-COUNT-40: arith.mulf %{{.*}} : tensor<128x48xf32
  // CHECK-NOT: arith.mulf
  // CHECK: warp.concat_columns
  launch.abi @squares target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       dots = [<"o", operand_above = 25>], order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @squares(%g: !memory, %n: index) kernel {
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
      %x0 = arith.mulf %e, %e : !scores
      %x1 = arith.mulf %x0, %x0 : !scores
      %x2 = arith.mulf %x1, %x1 : !scores
      %x3 = arith.mulf %x2, %x2 : !scores
      %x4 = arith.mulf %x3, %x3 : !scores
      %x5 = arith.mulf %x4, %x4 : !scores
      %x6 = arith.mulf %x5, %x5 : !scores
      %x7 = arith.mulf %x6, %x6 : !scores
      %x8 = arith.mulf %x7, %x7 : !scores
      %x9 = arith.mulf %x8, %x8 : !scores
      %x10 = arith.mulf %x9, %x9 : !scores
      %x11 = arith.mulf %x10, %x10 : !scores
      %x12 = arith.mulf %x11, %x11 : !scores
      %x13 = arith.mulf %x12, %x12 : !scores
      %x14 = arith.mulf %x13, %x13 : !scores
      %x15 = arith.mulf %x14, %x14 : !scores
      %x16 = arith.mulf %x15, %x15 : !scores
      %x17 = arith.mulf %x16, %x16 : !scores
      %x18 = arith.mulf %x17, %x17 : !scores
      %x19 = arith.mulf %x18, %x18 : !scores
      %x20 = arith.mulf %x19, %x19 : !scores
      %x21 = arith.mulf %x20, %x20 : !scores
      %x22 = arith.mulf %x21, %x21 : !scores
      %x23 = arith.mulf %x22, %x22 : !scores
      %x24 = arith.mulf %x23, %x23 : !scores
      %x25 = arith.mulf %x24, %x24 : !scores
      %x26 = arith.mulf %x25, %x25 : !scores
      %x27 = arith.mulf %x26, %x26 : !scores
      %x28 = arith.mulf %x27, %x27 : !scores
      %x29 = arith.mulf %x28, %x28 : !scores
      %x30 = arith.mulf %x29, %x29 : !scores
      %x31 = arith.mulf %x30, %x30 : !scores
      %x32 = arith.mulf %x31, %x31 : !scores
      %x33 = arith.mulf %x32, %x32 : !scores
      %x34 = arith.mulf %x33, %x33 : !scores
      %x35 = arith.mulf %x34, %x34 : !scores
      %x36 = arith.mulf %x35, %x35 : !scores
      %x37 = arith.mulf %x36, %x36 : !scores
      %x38 = arith.mulf %x37, %x37 : !scores
      %x39 = arith.mulf %x38, %x38 : !scores
      %sum = tile.reduce add dim 1 %x39 : !scores to !sums
      %l2 = arith.addf %l, %sum : !sums
      %p = arith.truncf %x39 : !scores to !weights
      %o = warp.dot_wait %i2 : !warp.pending<!out>
      scf.yield %p, %o, %l2 : !weights, !out, !sums
    }
    gpu.return
  }
}
