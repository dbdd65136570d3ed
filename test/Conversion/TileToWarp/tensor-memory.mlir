// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp,canonicalize,warp-insert-pipelines,canonicalize)))' | FileCheck %s --check-prefix=PIPELINE
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp,canonicalize,warp-insert-pipelines,canonicalize,warp-schedule-loops,canonicalize)))' | FileCheck %s --check-prefix=AHEAD
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp,canonicalize,warp-insert-pipelines,canonicalize,warp-schedule-loops,canonicalize,warp-specialize,warp-sync-lanes,warp-verify-pipelines)))' -o %t.mlir

// Dots that accumulate in tensor memory have memory operands: loaded operands are in
// shared memory, computed operands overlay the scores' accumulator.
// A loop-carried accumulator stays in tensor memory.
// CHECK-LABEL: gpu.func @f
// CHECK-DAG: %[[S:.*]] = warp.tmem_alloc column(0) : memref<128x64xf32, #warp.tmem>
// CHECK-DAG: %[[O:.*]] = warp.tmem_alloc column(64) : memref<128x32xf32, #warp.tmem>
// One value per row is a vector in shared memory.
// CHECK-DAG: %[[F:.*]] = warp.alloc : memref<128x1xf32, #warp.shared<row_bytes = 32>>
// CHECK: scf.for %[[J:.*]] = %[[LOWER:.*]] to
// CHECK: warp.copy "k" %{{.*}} to %[[KS:[^ ]*]] :
// CHECK: warp.dot_into "s" %{{.*}}, %[[KS]], %[[S]] accumulate(%{{.*}}) transpose_b
// CHECK-NEXT: %[[X:.*]] = warp.tmem_load %[[S]]
// CHECK: warp.local_store "factor" %{{.*}} to %[[F]]
// Threads load it back: no fence is needed.
// CHECK-NOT: warp.fence_stores
// CHECK: %[[BY:.*]] = warp.local_load %[[F]]
// CHECK: %[[P:.*]] = warp.tmem_view %[[S]] from 32 : memref<128x64xf32, #warp.tmem> to memref<128x64xbf16, #warp.tmem>
// CHECK: warp.tmem_store "p" %{{.*}} to %[[P]]
// CHECK: %[[LATER:.*]] = arith.cmpi ne, %[[J]], %[[LOWER]]
// CHECK: scf.if %[[LATER]] {
// CHECK-NEXT: %[[OLD:.*]] = warp.tmem_load %[[O]]
// CHECK-NEXT: %[[NEW:.*]] = arith.mulf %[[OLD]],
// CHECK-NEXT: warp.tmem_store "o.update" %[[NEW]] to %[[O]]
// CHECK-NEXT: }
// CHECK: warp.dot_into "o" %[[P]], %[[KS]], %[[O]] accumulate(%[[LATER]])
// CHECK: }
// CHECK: %[[SUM:.*]] = warp.tmem_load %[[O]]
// CHECK: %[[Y:.*]] = arith.truncf %[[SUM]]
// CHECK: warp.local_store "y" %[[Y]] to %[[YS:.*]] :
// CHECK-NEXT: warp.fence_stores %[[YS]]
// CHECK-NEXT: warp.copy_out "out" %[[YS]]

// One mechanism for all streams: stages are committed and released when dots complete,
// and the accumulator is signalled in each iteration.
// PIPELINE-LABEL: gpu.func @f
// PIPELINE: %[[PO:.*]] = warp.pipeline "o" : !warp.pipeline<1>
// PIPELINE: scf.for {{.*}} iter_args({{.*}}%[[PHASE:[^ ]*]] = %{{[^ ]*}}) ->
// PIPELINE: warp.consumer_wait %[[PK:.*]][%[[AT:.*]], %[[ATPHASE:.*]]] : !warp.pipeline<2>
// PIPELINE: warp.producer_acquire %[[PS:.*]][%{{.*}}, %{{.*}}] : !warp.pipeline<1>
// PIPELINE: warp.dot_into "s"
// PIPELINE-NEXT: warp.commit_after_dots %[[PS]]
// PIPELINE-NEXT: warp.consumer_wait %[[PS]]
// PIPELINE-NEXT: warp.tmem_load
// PIPELINE: warp.tmem_store "p"
// The scores' stage is kept until the probabilities have overlaid them.
// PIPELINE: warp.consumer_release %[[PS]]
// PIPELINE: scf.if
// PIPELINE-NEXT: %[[LAST:.*]] = arith.xori %[[PHASE]],
// PIPELINE-NEXT: warp.consumer_wait %[[PO]][%{{.*}}, %[[LAST]]]
// PIPELINE: warp.tmem_store "o.update"
// PIPELINE-NEXT: warp.consumer_release %[[PO]][%{{.*}}, %[[LAST]]]
// PIPELINE: warp.producer_acquire %[[PO]][%{{.*}}, %[[PHASE]]]
// PIPELINE-NEXT: warp.dot_into "o"
// PIPELINE-NEXT: warp.commit_after_dots %[[PO]][%{{.*}}, %[[PHASE]]]
// PIPELINE: warp.release_after_dots %[[PK]][%[[AT]], %[[ATPHASE]]]
// PIPELINE: scf.yield
// PIPELINE: warp.consumer_wait %[[PO]]
// PIPELINE-NEXT: warp.tmem_load
// PIPELINE-NEXT: warp.consumer_release %[[PO]]

// Both dots read the stage of keys, so the first one can't be issued early: the loop
// is not changed, and the plan is updated.
// AHEAD-LABEL: gpu.func @f
// AHEAD-NOT: warp.dot_into
// AHEAD: scf.for
// AHEAD: warp.dot_into "s"
// AHEAD: warp.dot_into "o"
!memory = memref<?x32xbf16, strided<[?, 1]>>
!operand = tensor<128x32xbf16, #tile.reg>
!block = tensor<64x32xbf16, #tile.reg>
!score = tensor<128x64xf32, #tile.reg>
!sum = tensor<128x32xf32, #tile.reg>
!row = tensor<128x1xf32, #tile.reg>
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
      %by = tile.broadcast %f : !row to !sum
      %x = arith.truncf %s : !score to tensor<128x64xbf16, #tile.reg>
      %p = tile.stream "p" %x : tensor<128x64xbf16, #tile.reg>
      %scaled = arith.mulf %acc, %by : !sum
      %o = tile.dot "o" %p, %k, %scaled : tensor<128x64xbf16, #tile.reg>, !block, !sum
      scf.yield %o : !sum
    }
    %narrow = arith.truncf %sum : !sum to !operand
    %y = tile.stream "y" %narrow : !operand
    tile.store "out" %y, %O[%c0, %c0] dims [0, 1] : !operand, !memory
    gpu.return
  }
}
