// All recurrences, and the structured op itself, on the same scores: short and
// long rows, growing and shrinking maxima, +-1e4, rows and blocks that are
// masked out, NaN and infinities; 200 keys in blocks of 64.
//
// REQUIRES: fovea-run
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/softmax_recurrences.py make %t
// RUN: cp %s %t/structured.mlir
// RUN: fovea-opt %s -o %t/three-pass.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=three-pass})))'
// RUN: fovea-opt %s -o %t/normalized.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=normalized},tile-lower-blocks)))'
// RUN: fovea-opt %s -o %t/deferred.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=deferred},canonicalize,cse,loop-invariant-code-motion,tile-sink-coordinates)))'
// RUN: fovea-opt %s -o %t/conditional.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=conditional partial-sum-width=1},tile-lower-blocks)))'
// RUN: fovea-opt %s -o %t/lazy.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=lazy partial-sum-width=1})))'
// RUN: fovea-run --target=sm_80 %t/structured.mlir --entry=whole --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/structured-whole-o.npy %t/structured-whole-lse.npy
// RUN: fovea-run --target=sm_80 %t/structured.mlir --entry=halves --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/structured-halves-o.npy %t/structured-halves-lse.npy
// RUN: fovea-run --target=sm_80 %t/three-pass.mlir --entry=whole --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/three-pass-whole-o.npy %t/three-pass-whole-lse.npy
// RUN: fovea-run --target=sm_80 %t/three-pass.mlir --entry=halves --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/three-pass-halves-o.npy %t/three-pass-halves-lse.npy
// RUN: fovea-run --target=sm_80 %t/normalized.mlir --entry=whole --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/normalized-whole-o.npy %t/normalized-whole-lse.npy
// RUN: fovea-run --target=sm_80 %t/normalized.mlir --entry=halves --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/normalized-halves-o.npy %t/normalized-halves-lse.npy
// RUN: fovea-run --target=sm_80 %t/deferred.mlir --entry=whole --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/deferred-whole-o.npy %t/deferred-whole-lse.npy
// RUN: fovea-run --target=sm_80 %t/deferred.mlir --entry=halves --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/deferred-halves-o.npy %t/deferred-halves-lse.npy
// RUN: fovea-run --target=sm_80 %t/conditional.mlir --entry=whole --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/conditional-whole-o.npy %t/conditional-whole-lse.npy
// RUN: fovea-run --target=sm_80 %t/lazy.mlir --entry=whole --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/lazy-whole-o.npy %t/lazy-whole-lse.npy
// RUN: fovea-run --target=sm_80 %t/conditional.mlir --entry=halves --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/conditional-halves-o.npy %t/conditional-halves-lse.npy
// RUN: fovea-run --target=sm_80 %t/lazy.mlir --entry=halves --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/lazy-halves-o.npy %t/lazy-halves-lse.npy
// RUN: %python %S/Inputs/softmax_recurrences.py check %t | FileCheck %s

// CHECK: structured whole: ok
// CHECK: structured halves: ok
// CHECK: three-pass whole: ok
// CHECK: three-pass halves: ok
// CHECK: normalized whole: ok
// CHECK: normalized halves: ok
// CHECK: deferred whole: ok
// CHECK: deferred halves: ok
// CHECK: conditional whole: ok
// CHECK: conditional halves: ok
// CHECK: lazy whole: ok
// CHECK: lazy halves: ok

// The same with blocks from the last to the first.
// RUN: mkdir -p %t/down
// RUN: cp %t/s.npy %t/v.npy %t/down
// RUN: sed 's/step 64 full/step 64 descending full/' %s > %t/down/structured.mlir
// RUN: fovea-opt %t/down/structured.mlir -o %t/down/three-pass.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=three-pass})))'
// RUN: fovea-opt %t/down/structured.mlir -o %t/down/deferred.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=deferred},tile-lower-blocks)))'
// RUN: fovea-opt %t/down/structured.mlir -o %t/down/lazy.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=lazy})))'
// RUN: fovea-run --target=sm_80 %t/down/structured.mlir --entry=whole --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/down/structured-whole-o.npy %t/down/structured-whole-lse.npy
// RUN: fovea-run --target=sm_80 %t/down/structured.mlir --entry=halves --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/down/structured-halves-o.npy %t/down/structured-halves-lse.npy
// RUN: fovea-run --target=sm_80 %t/down/three-pass.mlir --entry=whole --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/down/three-pass-whole-o.npy %t/down/three-pass-whole-lse.npy
// RUN: fovea-run --target=sm_80 %t/down/three-pass.mlir --entry=halves --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/down/three-pass-halves-o.npy %t/down/three-pass-halves-lse.npy
// RUN: fovea-run --target=sm_80 %t/down/deferred.mlir --entry=whole --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/down/deferred-whole-o.npy %t/down/deferred-whole-lse.npy
// RUN: fovea-run --target=sm_80 %t/down/deferred.mlir --entry=halves --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/down/deferred-halves-o.npy %t/down/deferred-halves-lse.npy
// RUN: fovea-run --target=sm_80 %t/down/lazy.mlir --entry=whole --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/down/lazy-whole-o.npy %t/down/lazy-whole-lse.npy
// RUN: fovea-run --target=sm_80 %t/down/lazy.mlir --entry=halves --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/down/lazy-halves-o.npy %t/down/lazy-halves-lse.npy
// RUN: %python %S/Inputs/softmax_recurrences.py check %t/down structured three-pass deferred lazy | FileCheck %s --check-prefix=DOWN

// DOWN: structured whole: ok
// DOWN: structured halves: ok
// DOWN: three-pass whole: ok
// DOWN: three-pass halves: ok
// DOWN: deferred whole: ok
// DOWN: deferred halves: ok
// DOWN: lazy whole: ok
// DOWN: lazy halves: ok

// The same where another role rescales the accumulator, by factors that it gets.
// RUN: mkdir -p %t/sent
// RUN: cp %t/s.npy %t/v.npy %t/sent
// RUN: sed 's/, stages = 1>/, stages = 1, streams = [<"factor", staged>]>/' %s > %t/sent/whole.mlir
// RUN: fovea-opt %t/sent/whole.mlir -o %t/sent/conditional.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=conditional},tile-lower-blocks)))'
// RUN: FileCheck %s --check-prefix=STREAM < %t/sent/conditional.mlir
// RUN: fovea-run --target=sm_80 %t/sent/conditional.mlir --entry=whole --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/sent/conditional-whole-o.npy %t/sent/conditional-whole-lse.npy
// RUN: fovea-run --target=sm_80 %t/sent/conditional.mlir --entry=halves --level=tile --inputs %t/s.npy %t/v.npy --outputs %t/sent/conditional-halves-o.npy %t/sent/conditional-halves-lse.npy
// RUN: %python %S/Inputs/softmax_recurrences.py check %t/sent conditional | FileCheck %s --check-prefix=SENT
// STREAM-LABEL: gpu.func @whole(
// STREAM: tile.stream "factor"
// STREAM-LABEL: gpu.func @halves(
// STREAM: tile.stream "factor"
// SENT: conditional whole: ok
// SENT: conditional halves: ok

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!keep = tensor<16x64xi1, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
!values = tensor<64x32xf16, #tile.reg>
#plan = #plan.kernel<#warp.mma_sync_unit, tile_m = 16, warps = 1, stages = 1>

gpu.module @kernels {
  launch.abi @whole target("sm_80") plan(#plan)
    tensors([#launch.tensor<"s", read, tensor<?x?xf32>, ["Sq", "Skv"], 4>,
             #launch.tensor<"v", read, tensor<?x32xf16>, ["Skv", "Dv"], 2>,
             #launch.tensor<"o", write, tensor<?x32xf32>, ["Sq", "Dv"], 4>,
             #launch.tensor<"lse", write, tensor<?xf32>, ["Sq"], 4>])
    parameters([#launch.memref<"s", [0, 1]>, #launch.memref<"v", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.memref<"lse", [0]>])
    grid(["Sq"] affine_map<()[n] -> (n ceildiv 16)>) threads(32) shared_memory(0)
  gpu.func @whole(%S: memref<?x?xf32>, %V: memref<?x32xf16>, %O: memref<?x32xf32>, %L: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %block = gpu.block_id x
    %i = arith.muli %block, %c16 : index
    %n = memref.dim %S, %c1 : memref<?x?xf32>
    %n32 = arith.index_cast %n : index to i32
    %blocks = arith.divui %n, %c64 : index
    %full = arith.muli %blocks, %c64 : index
    %hidden = arith.constant dense<0xFF800000> : !full
    %m, %l, %acc = tile.softmax_sum %c0 to %n step 64 full(%c0, %full) scale(0.25)
      scores(%j: index, %partial: i1) {
        %s = tile.load %S[%i, %j] dims [0, 1] : memref<?x?xf32> to !full
        %masked = scf.if %partial -> !full {
          %iota = tile.iota dim 1 : tensor<1x64xi32, #tile.reg>
          %j32 = arith.index_cast %j : index to i32
          %base = tile.broadcast %j32 : i32 to tensor<1x64xi32, #tile.reg>
          %key = arith.addi %iota, %base : tensor<1x64xi32, #tile.reg>
          %end = tile.broadcast %n32 : i32 to tensor<1x64xi32, #tile.reg>
          %exists = arith.cmpi slt, %key, %end : tensor<1x64xi32, #tile.reg>
          %keep = tile.broadcast %exists : tensor<1x64xi1, #tile.reg> to !keep
          %x = arith.select %keep, %s, %hidden : !keep, !full
          scf.yield %x : !full
        } else {
          scf.yield %s : !full
        }
        tile.yield %masked : !full
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xf16> to !values
        tile.yield %v : !values
      } : !row, !acc
    %o, %lse = tile.softmax_finish %m, %l, %acc : !row, !acc
    tile.store %o, %O[%i, %c0] dims [0, 1] : !acc, memref<?x32xf32>
    tile.store %lse, %L[%i] dims [0, -1] : !row, memref<?xf32>
    gpu.return
  }

  // Blocks 0 and 1 first, then the rest, then both together.
  launch.abi @halves target("sm_80") plan(#plan)
    tensors([#launch.tensor<"s", read, tensor<?x?xf32>, ["Sq", "Skv"], 4>,
             #launch.tensor<"v", read, tensor<?x32xf16>, ["Skv", "Dv"], 2>,
             #launch.tensor<"o", write, tensor<?x32xf32>, ["Sq", "Dv"], 4>,
             #launch.tensor<"lse", write, tensor<?xf32>, ["Sq"], 4>])
    parameters([#launch.memref<"s", [0, 1]>, #launch.memref<"v", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.memref<"lse", [0]>])
    grid(["Sq"] affine_map<()[n] -> (n ceildiv 16)>) threads(32) shared_memory(0)
  gpu.func @halves(%S: memref<?x?xf32>, %V: memref<?x32xf16>, %O: memref<?x32xf32>, %L: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c128 = arith.constant 128 : index
    %block = gpu.block_id x
    %i = arith.muli %block, %c16 : index
    %n = memref.dim %S, %c1 : memref<?x?xf32>
    %n32 = arith.index_cast %n : index to i32
    %hidden = arith.constant dense<0xFF800000> : !full
    %m0, %l0, %acc0 = tile.softmax_sum %c0 to %c128 step 64 full(%c0, %c128) scale(0.25)
      scores(%j: index, %partial: i1) {
        %s = tile.load %S[%i, %j] dims [0, 1] : memref<?x?xf32> to !full
        tile.yield %s : !full
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xf16> to !values
        tile.yield %v : !values
      } : !row, !acc
    %m1, %l1, %acc1 = tile.softmax_sum %c128 to %n step 64 full(%c0, %c0) scale(0.25)
      scores(%j: index, %partial: i1) {
        %s = tile.load %S[%i, %j] dims [0, 1] : memref<?x?xf32> to !full
        %iota = tile.iota dim 1 : tensor<1x64xi32, #tile.reg>
        %j32 = arith.index_cast %j : index to i32
        %base = tile.broadcast %j32 : i32 to tensor<1x64xi32, #tile.reg>
        %key = arith.addi %iota, %base : tensor<1x64xi32, #tile.reg>
        %end = tile.broadcast %n32 : i32 to tensor<1x64xi32, #tile.reg>
        %exists = arith.cmpi slt, %key, %end : tensor<1x64xi32, #tile.reg>
        %keep = tile.broadcast %exists : tensor<1x64xi1, #tile.reg> to !keep
        %x = arith.select %keep, %s, %hidden : !keep, !full
        tile.yield %x : !full
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xf16> to !values
        tile.yield %v : !values
      } : !row, !acc
    %m, %l, %acc = tile.softmax_merge (%m0, %l0, %acc0), (%m1, %l1, %acc1) : !row, !row, !acc
    %o, %lse = tile.softmax_finish %m, %l, %acc : !row, !acc
    tile.store %o, %O[%i, %c0] dims [0, 1] : !acc, memref<?x32xf32>
    tile.store %lse, %L[%i] dims [0, -1] : !row, memref<?xf32>
    gpu.return
  }
}
