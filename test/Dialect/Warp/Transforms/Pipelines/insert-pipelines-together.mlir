// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!tile = tensor<64x32xbf16, #tile.reg>
!queries = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!acc = memref<128x128xf32, #warp.tmem>
!scores = tensor<128x128xf32, #tile.reg>
gpu.module @m {
  // Two copies share a pipeline: one wait before the first reader of either, one release after the
  // last reader of both.
  // CHECK-LABEL: gpu.func @f
  // CHECK-DAG: %[[KS:.*]] = warp.alloc : memref<2x64x32xbf16
  // CHECK-DAG: %[[VS:.*]] = warp.alloc : memref<2x64x32xbf16
  // CHECK: %[[P:.*]] = warp.pipeline "k" : !warp.pipeline<2>
  // CHECK-NOT: warp.pipeline
  // CHECK: scf.for
  // CHECK: warp.producer_acquire %[[P]]
  // CHECK-NEXT: warp.stage
  // CHECK-NEXT: warp.copy async "k"
  // CHECK-NEXT: warp.stage
  // CHECK-NEXT: warp.copy async "v"
  // CHECK-NEXT: warp.producer_commit %[[P]]
  // CHECK-NEXT: warp.consumer_wait %[[P]]
  // CHECK: warp.local_load
  // CHECK: warp.local_load
  // CHECK-NEXT: warp.consumer_release %[[P]]
  // CHECK-NOT: warp.consumer_wait
  // CHECK: gpu.return
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, streams = [<"k", stages = 2>, <"v", with = "k">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bk = warp.alloc : !buffer
    %bv = warp.alloc : !buffer
    scf.for %i = %c0 to %n step %c1 {
      warp.copy "k" %k[%i, %c0] dims [0, 1] to %bk : !memory to !buffer
      %x = warp.local_load %bk : !buffer to !tile
      warp.copy "v" %k[%i, %c0] dims [0, 1] to %bv : !memory to !buffer
      %y = warp.local_load %bv : !buffer to !tile
    }
    gpu.return
  }

  // `warp.dot_into` ops that read either buffer release both when they complete.
  // CHECK-LABEL: gpu.func @by_dots
  // CHECK: warp.consumer_wait %[[P:.*]][%{{.*}}] : !warp.pipeline<2>
  // CHECK: warp.dot_into
  // CHECK-NOT: warp.consumer_release
  // CHECK: warp.release_after_dots %[[P]]
  launch.abi @by_dots target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1, streams = [<"n", stages = 2>, <"v", with = "n">],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @by_dots(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %no = arith.constant false
    %bn = warp.alloc : !buffer
    %bv = warp.alloc : !queries
    %s = warp.tmem_alloc column(0) : !acc
    scf.for %i = %c0 to %n step %c1 {
      warp.copy "n" %k[%i, %c0] dims [0, 1] to %bn : !memory to !buffer
      %x = warp.local_load %bn : !buffer to !tile
      warp.copy "v" %k[%i, %c0] dims [0, 1] to %bv : !memory to !queries
      warp.dot_into "s" %bv, %bv, %s accumulate(%no) transpose_b : !queries, !queries, !acc
      %y = warp.tmem_load %s : !acc to !scores
    }
    gpu.return
  }
}
