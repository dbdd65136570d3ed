// Each copy of a kernel with roles gets a ring and a pipeline.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' --split-input-file | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  // Q gets 'query_stages', K 'key_stages', V 'stages'. The position of each ring is carried through
  // all loops around its copy, that of Q only through the outer loop. No op moves.
  // CHECK-LABEL: gpu.func @rings
  // CHECK-SAME: %[[K:.*]]: memref
  // CHECK: %[[QS:.*]] = warp.alloc : memref<2x128x32xbf16
  // CHECK: %[[QP:.*]] = warp.pipeline {{("[^"]+" )?}}: !warp.pipeline<2>
  // CHECK: %[[KS:.*]] = warp.alloc : memref<4x64x32xbf16
  // CHECK: %[[KP:.*]] = warp.pipeline {{("[^"]+" )?}}: !warp.pipeline<4>
  // CHECK: %[[VS:.*]] = warp.alloc : memref<3x64x32xbf16
  // CHECK: %[[VP:.*]] = warp.pipeline {{("[^"]+" )?}}: !warp.pipeline<3>
  // CHECK: scf.while (%{{.*}} = %{{.*}}, %[[QSTAGE:.*]] = %{{.*}}, %[[QPHASE:.*]] = %{{.*}}, %[[KSTAGE0:.*]] = %{{.*}}, %[[KPHASE0:.*]] = %{{.*}}, %[[VSTAGE0:.*]] = %{{.*}}, %[[VPHASE0:.*]] = %{{.*}})
  // CHECK: warp.producer_acquire %[[QP]][%[[QSTAGE]], %[[QPHASE]]]
  // CHECK-NEXT: %[[QIN:.*]] = warp.stage %[[QS]][%[[QSTAGE]]]
  // CHECK-NEXT: warp.copy async {{("[^"]+" )?}}%[[K]][{{.*}}] limit(%{{.*}}) dims [0, 1] to %[[QIN]]
  // CHECK-NEXT: warp.producer_commit %[[QP]][%[[QSTAGE]], %[[QPHASE]]]
  // Q is read in the loop over blocks: the wait precedes the loop, the release follows it.
  // CHECK-NEXT: warp.consumer_wait %[[QP]][%[[QSTAGE]], %[[QPHASE]]]
  // CHECK-NEXT: %[[QOUT:.*]] = warp.stage %[[QS]][%[[QSTAGE]]]
  // CHECK: %[[BLOCKS:.*]]:5 = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[KSTAGE:.*]] = %[[KSTAGE0]], %[[KPHASE:.*]] = %[[KPHASE0]], %[[VSTAGE:.*]] = %[[VSTAGE0]], %[[VPHASE:.*]] = %[[VPHASE0]])
  // CHECK: warp.producer_acquire %[[KP]][%[[KSTAGE]], %[[KPHASE]]]
  // CHECK: warp.producer_commit %[[KP]][%[[KSTAGE]], %[[KPHASE]]]
  // CHECK: warp.consumer_wait %[[KP]][%[[KSTAGE]], %[[KPHASE]]]
  // CHECK: warp.dot {{("[^"]+" )?}}%[[QOUT]], %{{.*}} transpose_b
  // CHECK-NEXT: warp.consumer_release %[[KP]][%[[KSTAGE]], %[[KPHASE]]]
  // CHECK: warp.producer_acquire %[[VP]][%[[VSTAGE]], %[[VPHASE]]]
  // CHECK: warp.producer_commit %[[VP]]
  // CHECK: warp.consumer_wait %[[VP]]
  // CHECK: warp.dot
  // CHECK-NEXT: warp.consumer_release %[[VP]]
  // Wraparound: the stage after the last one is the first one, in the other phase.
  // CHECK: %[[AHEAD:.*]] = arith.addi %[[KSTAGE]], %{{.*}} : i32
  // CHECK: %[[WRAPS:.*]] = arith.cmpi sge, %[[AHEAD]], %[[DEPTH:.*]] : i32
  // CHECK: %[[WRAPPED:.*]] = arith.subi %[[AHEAD]], %[[DEPTH]] : i32
  // CHECK: %[[STAGE:.*]] = arith.select %[[WRAPS]], %[[WRAPPED]], %[[AHEAD]] : i32
  // CHECK: %[[FLIP:.*]] = arith.extui %[[WRAPS]] : i1 to i32
  // CHECK: %[[PHASE:.*]] = arith.xori %[[KPHASE]], %[[FLIP]] : i32
  // CHECK: scf.yield %{{.*}}, %[[STAGE]], %[[PHASE]],
  // CHECK: warp.consumer_release %[[QP]][%[[QSTAGE]], %[[QPHASE]]]
  // CHECK: scf.condition(%{{.*}}) %{{.*}}, %{{.*}}, %{{.*}}, %[[BLOCKS]]#1, %[[BLOCKS]]#2, %[[BLOCKS]]#3, %[[BLOCKS]]#4
  // CHECK-NOT: warp.copy {{("[^"]+" )?}}%
  launch.abi @rings target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 3,
       streams = [<"q", stages = 2>, <"k", stages = 4>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @rings(%k: !memory, %n: index) kernel {
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

  // A buffer allocated in a loop: the ring starts outside. With one stage, only the phase changes.
  // CHECK-LABEL: gpu.func @inner
  // CHECK: warp.alloc : memref<1x64x32xbf16
  // CHECK-NEXT: %[[P:.*]] = warp.pipeline {{("[^"]+" )?}}: !warp.pipeline<1>
  // CHECK: scf.for {{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}) -> (i32, i32)
  // CHECK-NOT: warp.alloc
  // CHECK: warp.producer_acquire %[[P]][%[[STAGE]], %[[PHASE]]]
  // CHECK: %[[FLIPPED:.*]] = arith.xori %[[PHASE]],
  // CHECK: scf.yield %[[STAGE]], %[[FLIPPED]] : i32, i32
  launch.abi @inner target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @inner(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %j = %c0 to %n step %c64 {
      %b = warp.alloc : !buffer
      warp.copy "k" %k[%j, %c0] dims [0, 1] to %b : !memory to !buffer
      %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    }
    gpu.return
  }

  // A copy outside of loops: the first stage, in the first phase.
  // CHECK-LABEL: gpu.func @straight
  // CHECK: %[[Z:.*]] = arith.constant 0 : i32
  // CHECK: warp.producer_acquire %{{.*}}[%[[Z]], %[[Z]]]
  // CHECK: warp.copy async
  // CHECK: warp.producer_commit
  // CHECK: warp.consumer_wait %{{.*}}[%[[Z]], %[[Z]]]
  // CHECK: warp.local_load
  // CHECK: warp.consumer_release
  launch.abi @straight target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @straight(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !buffer
    warp.copy "k" %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    gpu.return
  }

  // Without roles, `warp-insert-async-copies` has converted the copies.
  // CHECK-LABEL: gpu.func @no_roles
  // CHECK-NOT: warp.pipeline
  // CHECK: warp.copy {{("[^"]+" )?}}%
  launch.abi @no_roles target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @no_roles(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !buffer
    warp.copy "k" %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    gpu.return
  }
}
