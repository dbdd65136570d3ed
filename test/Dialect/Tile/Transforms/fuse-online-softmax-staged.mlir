// If the plan sends the rescaling factor to another role, it is computed in every
// iteration, and is exactly 1 if the offset stays. The receiving role rescales rows
// whose factor is not 1; the row sums are multiplied
// unconditionally.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=conditional tau=4},tile-lower-blocks,cse,canonicalize)))' \
// RUN:   | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=deferred},tile-lower-blocks,cse,canonicalize)))' \
// RUN:   | FileCheck %s --check-prefix=DEFERRED

// CHECK-LABEL: gpu.func @kernel
// CHECK-DAG:   %[[TAU:.*]] = arith.constant dense<4.000000e+00> : tensor<128x1xf32
// CHECK-DAG:   %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<128x1xf32
// CHECK:       scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[ACC:.*]] = %
// CHECK:         %[[MOST:.*]] = arith.maximumf %[[M]]
// CHECK-NEXT:    %[[BOUND:.*]] = arith.addf %[[M]], %[[TAU]]
// CHECK-NEXT:    %[[MOVED:.*]] = arith.cmpf ogt, %[[MOST]], %[[BOUND]]
// CHECK-NEXT:    %[[NEXT:.*]] = arith.select %[[MOVED]], %[[MOST]], %[[M]]
// CHECK:         %[[F:.*]] = math.exp2 %{{.*}} : tensor<128x1xf32
// CHECK-NEXT:    %[[FACTOR:.*]] = arith.select %[[MOVED]], %[[F]], %[[ONE]]
// CHECK-NEXT:    %[[SENT:.*]] = tile.stream "factor" %[[FACTOR]]
// CHECK:         %[[P:.*]] = math.exp2 %{{.*}} : tensor<128x64xf32
// CHECK:         %[[BY:.*]] = tile.broadcast %[[FACTOR]] {{.*}} to tensor<128x8xf32
// CHECK:         %[[SUMS:.*]] = math.fma %[[L]], %[[BY]]
// CHECK:         %[[CHANGES:.*]] = arith.cmpf une, %[[SENT]], %[[ONE]]
// CHECK-NEXT:    %[[SCALED:.*]] = tile.if_any %[[CHANGES]] init(%[[ACC]]
// CHECK-NEXT:    ^bb0(%[[OLD:.*]]: tensor<128x32xf32
// CHECK-NEXT:      %[[WIDE:.*]] = tile.broadcast %[[SENT]]
// CHECK-NEXT:      %[[NEW:.*]] = arith.mulf %[[OLD]], %[[WIDE]]
// CHECK-NEXT:      tile.yield %[[NEW]]
// CHECK:         %[[WEIGHTS:.*]] = tile.stream "p"
// CHECK:         %[[SUM:.*]] = tile.dot "o" %[[WEIGHTS]], %{{.*}}, %[[SCALED]]
// CHECK-NEXT:    scf.yield %[[NEXT]], %[[SUMS]], %[[SUM]]

// DEFERRED-LABEL: gpu.func @kernel
// DEFERRED:       scf.for
// DEFERRED:         %[[FACTOR:.*]] = math.exp2 %{{.*}} : tensor<128x1xf32
// DEFERRED-NEXT:    %[[SENT:.*]] = tile.stream "factor" %[[FACTOR]]
// DEFERRED-NOT:     tile.if_any
// DEFERRED:         %[[BY:.*]] = tile.broadcast %[[SENT]]
// DEFERRED-NEXT:    %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[BY]]
// DEFERRED:         tile.dot "o" %{{.*}}, %{{.*}}, %[[SCALED]]

!row = tensor<128x1xf32, #tile.reg>
!full = tensor<128x64xf32, #tile.reg>
!half = tensor<128x64xf16, #tile.reg>
gpu.module @kernels {
  launch.abi @kernel target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       streams = [<"p", staged, over = "s">, <"factor", staged>, <"scale", staged>],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([#launch.tensor<"s", read, tensor<?x64xf16>, ["S", "D"], 16>, #launch.tensor<"v", read, tensor<?x32xbf16>, ["S", "Dv"], 16>,
             #launch.tensor<"m", write, tensor<128x1xf32>, ["R", "C"], 16>, #launch.tensor<"o", write, tensor<128x32xf32>, ["R", "Dv"], 16>])
    parameters([#launch.scalar<"ub", index>, #launch.memref<"s", [0, 1]>, #launch.memref<"v", [0, 1]>, #launch.memref<"m", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @kernel(%ub: index, %S: memref<?x64xf16>, %V: memref<?x32xbf16>, %M: memref<128x1xf32>, %O: memref<128x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %m, %l, %acc = tile.softmax_sum "o" %c0 to %ub step 64 full(%c0, %ub) scale(0.125)
      scores(%j: index, %partial: i1) {
        %s0 = tile.load %S[%j, %c0] dims [1, 0] : memref<?x64xf16> to !half
        %s = arith.extf %s0 : !half to !full
        tile.yield %s : !full
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      } : !row, tensor<128x32xf32, #tile.reg>
    tile.store %l, %M[%c0, %c0] dims [0, 1] : !row, memref<128x1xf32>
    tile.store %m, %M[%c0, %c0] dims [0, 1] : !row, memref<128x1xf32>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<128x32xf32, #tile.reg>, memref<128x32xf32>
    gpu.return
  }
}
