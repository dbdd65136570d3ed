// Rings with the same number of stages in the same loop share one position, which the loop carries
// once. A ring with `counts_alone` has its own, and so has a ring of another loop.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' | FileCheck %s
// RUN: sed 's/<"v", stages = 2>/<"v", stages = 2, counts_alone>/' %s | fovea-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' | FileCheck %s --check-prefix=ALONE

// CHECK-LABEL: gpu.func @shared
// CHECK-DAG: %[[QP:.*]] = warp.pipeline "q" : !warp.pipeline<2>
// CHECK-DAG: %[[KP:.*]] = warp.pipeline "k" : !warp.pipeline<2>
// CHECK-DAG: %[[VP:.*]] = warp.pipeline "v" : !warp.pipeline<2>
// CHECK: scf.while (%{{.*}} = %{{.*}}, %[[QSTAGE:[a-z0-9]+]] = %{{.*}}, %[[QPHASE:[a-z0-9]+]] = %{{.*}}, %[[STAGE0:[a-z0-9]+]] = %{{.*}}, %[[PHASE0:[a-z0-9]+]] = %{{[a-z0-9_]+}}) :
// CHECK: warp.producer_acquire %[[QP]][%[[QSTAGE]], %[[QPHASE]]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[STAGE:.*]] = %[[STAGE0]], %[[PHASE:[a-z0-9]+]] = %[[PHASE0]]) ->
// CHECK: warp.producer_acquire %[[KP]][%[[STAGE]], %[[PHASE]]]
// CHECK: warp.consumer_release %[[KP]][%[[STAGE]], %[[PHASE]]]
// CHECK: warp.producer_acquire %[[VP]][%[[STAGE]], %[[PHASE]]]
// CHECK: warp.consumer_wait %[[VP]][%[[STAGE]], %[[PHASE]]]
// CHECK: warp.consumer_release %[[VP]][%[[STAGE]], %[[PHASE]]]

// ALONE-LABEL: gpu.func @shared
// ALONE-DAG: %[[KP:.*]] = warp.pipeline "k" : !warp.pipeline<2>
// ALONE-DAG: %[[VP:.*]] = warp.pipeline "v" : !warp.pipeline<2>
// ALONE: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[KSTAGE:.*]] = %{{.*}}, %[[KPHASE:.*]] = %{{.*}}, %[[VSTAGE:.*]] = %{{.*}}, %[[VPHASE:[a-z0-9]+]] = %{{.*}}) ->
// ALONE: warp.producer_acquire %[[KP]][%[[KSTAGE]], %[[KPHASE]]]
// ALONE: warp.producer_acquire %[[VP]][%[[VSTAGE]], %[[VPHASE]]]

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  launch.abi @shared target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 2,
       streams = [<"v", stages = 2>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @shared(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zs = arith.constant dense<0.0> : tensor<128x64xf32, #tile.reg>
    %zo = arith.constant dense<0.0> : tensor<128x32xf32, #tile.reg>
    %bq = warp.alloc : !query
    %bk = warp.alloc : !buffer
    %bv = warp.alloc : !buffer
    %last = scf.while (%item = %c0) : (index) -> (index) {
      warp.copy "q" %k[%item, %c0] limit(%n) dims [0, 1] to %bq : !memory to !query
      %o = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %zo) -> (tensor<128x32xf32, #tile.reg>) {
        warp.copy "k" %k[%j, %c0] dims [0, 1] to %bk : !memory to !buffer
        %s = warp.dot "s" %bq, %bk, %zs transpose_b : !query, !buffer, tensor<128x64xf32, #tile.reg>
        %p = arith.truncf %s : tensor<128x64xf32, #tile.reg> to tensor<128x64xbf16, #tile.reg>
        warp.copy "v" %k[%j, %c0] dims [0, 1] to %bv : !memory to !buffer
        %r = warp.dot "o" %p, %bv, %acc : tensor<128x64xbf16, #tile.reg>, !buffer, tensor<128x32xf32, #tile.reg>
        scf.yield %r : tensor<128x32xf32, #tile.reg>
      }
      %next = arith.addi %item, %c64 : index
      %more = arith.cmpi ult, %next, %n : index
      scf.condition(%more) %next : index
    } do {
    ^bb0(%next: index):
      scf.yield %next : index
    }
    gpu.return
  }
}
