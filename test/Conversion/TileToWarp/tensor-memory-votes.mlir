// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp,canonicalize,warp-insert-pipelines,canonicalize)))' | FileCheck %s --check-prefix=PIPELINE
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp,canonicalize,warp-insert-pipelines,canonicalize,warp-specialize,warp-sync-lanes,warp-verify-pipelines)))' | FileCheck %s --check-prefix=ROLES

// Conditional updates of a loop-carried accumulator: nothing is loaded or stored in
// iterations without an update.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[O:.*]] = warp.tmem_alloc column(64) : memref<128x32xf32, #warp.tmem>
// CHECK: %[[BY:.*]] = warp.local_load %{{.*}} : memref<128x1xf32
// CHECK: %[[CHANGES:.*]] = arith.cmpf une, %[[BY]],
// CHECK: %[[LATER:.*]] = arith.cmpi ne,
// CHECK: scf.if %[[LATER]] {
// CHECK-NEXT: %[[ANY:.*]] = warp.any %[[CHANGES]]
// CHECK-NEXT: scf.if %[[ANY]] {
// CHECK-NEXT: %[[OLD:.*]] = warp.tmem_load %[[O]]
// CHECK-NEXT: %[[WIDE:.*]] = tile.broadcast %[[BY]]
// CHECK-NEXT: %[[NEW:.*]] = arith.mulf %[[OLD]], %[[WIDE]]
// CHECK-NEXT: warp.tmem_store "o.update" %[[NEW]] to %[[O]]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NOT: tile.if_any
// CHECK: warp.dot_into "o" %{{.*}}, %{{.*}}, %[[O]] accumulate(%[[LATER]])

// The stage is released in every iteration.
// PIPELINE-LABEL: gpu.func @f
// PIPELINE: %[[PO:.*]] = warp.pipeline "o" : !warp.pipeline<1>
// PIPELINE: %[[LATER:.*]] = arith.cmpi ne,
// PIPELINE-NEXT: scf.if %[[LATER]] {
// PIPELINE-NEXT: warp.any
// PIPELINE: warp.consumer_wait %[[PO]]
// PIPELINE-NEXT: scf.if
// PIPELINE-NEXT: warp.tmem_load
// PIPELINE: warp.tmem_store "o.update"
// PIPELINE-NEXT: }
// PIPELINE-NEXT: warp.consumer_release %[[PO]]
// PIPELINE-NEXT: }

// Only the role that updates the accumulator executes the ballot.
// ROLES-LABEL: gpu.func @f(
// ROLES: role @softmax
// ROLES-NOT: warp.any
// ROLES: role @correction
// ROLES: warp.any
// ROLES: warp.tmem_store "o.update"
// ROLES: role @mma
// ROLES-NOT: warp.any
!memory = memref<?x32xbf16, strided<[?, 1]>>
!operand = tensor<128x32xbf16, #tile.reg>
!block = tensor<64x32xbf16, #tile.reg>
!score = tensor<128x64xf32, #tile.reg>
!sum = tensor<128x32xf32, #tile.reg>
!row = tensor<128x1xf32, #tile.reg>
!flags = tensor<128x1xi1, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       streams = [<"q">, <"p", staged, over = "s">, <"factor", staged>, <"y", staged>],
       order = ["s" + 1, "o"],
       stores = [<"out", copied>],
       roles = [<"softmax", warps = 4, registers = 192, owns = ["p", "factor"]>,
           <"correction", warps = 4, registers = 80, owns = ["o.update", "y"]>,
           <"mma", warps = 1, registers = 48, owns = ["s", "o"]>,
           <"load", warps = 1, registers = 48, owns = ["q", "k"]>,
           <"epilogue", warps = 2, registers = 48, owns = ["out"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%K: !memory, %O: !memory, %n: index) kernel {
    %zero = arith.constant dense<0.0> : !score
    %none = arith.constant dense<0.0> : !sum
    %ones = arith.constant dense<1.0> : !row
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %blocks = arith.maxsi %n, %c1 : index
    %q = tile.load "q" %K[%c0, %c0] dims [0, 1] : !memory to !operand
    %sum = scf.for %j = %c0 to %blocks step %c1 iter_args(%acc = %none) -> !sum {
      %row = arith.muli %j, %c64 : index
      %k = tile.load "k" %K[%row, %c0] dims [0, 1] : !memory to !block
      %s = tile.dot "s" %q, %k, %zero transpose_b : !operand, !block, !score
      %m = tile.reduce max dim 1 %s : !score to !row
      %f = tile.stream "factor" %m : !row
      %changes = arith.cmpf une, %f, %ones : !row
      %x = arith.truncf %s : !score to tensor<128x64xbf16, #tile.reg>
      %p = tile.stream "p" %x : tensor<128x64xbf16, #tile.reg>
      %scaled = tile.if_any %changes init(%acc : !sum) : !flags {
      ^bb0(%old: !sum):
        %by = tile.broadcast %f : !row to !sum
        %new = arith.mulf %old, %by : !sum
        tile.yield %new : !sum
      }
      %o = tile.dot "o" %p, %k, %scaled : tensor<128x64xbf16, #tile.reg>, !block, !sum
      scf.yield %o : !sum
    }
    %narrow = arith.truncf %sum : !sum to !operand
    %y = tile.stream "y" %narrow : !operand
    tile.store "out" %y, %O[%c0, %c0] dims [0, 1] : !operand, !memory
    gpu.return
  }
}
