// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!out = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
gpu.module @m {
  // The role that owns "*" waits for and releases a stream without readers.
  // CHECK-LABEL: gpu.func @nobody_reads
  // CHECK: role @load
  // CHECK: warp.copy async
  // CHECK-NOT: warp.consumer
  // CHECK: role @compute
  // CHECK: warp.consumer_wait
  // CHECK: warp.consumer_release
  // CHECK: tile.store
  launch.abi @nobody_reads target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @nobody_reads(%g: !memory, %out: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %o = arith.constant dense<0.0> : !out
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %k = warp.stage %ks[%z] : !staged to !buffer
    warp.producer_acquire %kp[%z, %z] : !warp.pipeline<2>
    warp.copy async "k" %g[%c0, %c0] dims [0, 1] to %k : !memory to !buffer
    warp.producer_commit %kp[%z, %z] : !warp.pipeline<2>
    warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
    warp.consumer_release %kp[%z, %z] : !warp.pipeline<2>
    tile.store %o, %out[%c0, %c0] dims [0, 1] : !out, !memory
    gpu.return
  }

  // That role also zeroes its rows past the end.
  // CHECK-LABEL: gpu.func @nobody_reads_rows
  // CHECK: role @load
  // CHECK-NOT: warp.zero_rows
  // CHECK: role @compute
  // CHECK: warp.consumer_wait
  // CHECK: warp.zero_rows
  // CHECK: warp.consumer_release
  launch.abi @nobody_reads_rows target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @nobody_reads_rows(%g: !memory, %out: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %n = arith.constant 3 : index
    %o = arith.constant dense<0.0> : !out
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %k = warp.stage %ks[%z] : !staged to !buffer
    warp.producer_acquire %kp[%z, %z] : !warp.pipeline<2>
    warp.copy async "k" %g[%c0, %c0] dims [0, 1] to %k : !memory to !buffer
    warp.producer_commit %kp[%z, %z] : !warp.pipeline<2>
    warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
    warp.zero_rows %k from %n : !buffer
    warp.consumer_release %kp[%z, %z] : !warp.pipeline<2>
    tile.store %o, %out[%c0, %c0] dims [0, 1] : !out, !memory
    gpu.return
  }

  // If no role owns "*", the role with the most warps does it.
  // CHECK-LABEL: gpu.func @no_rest
  // CHECK: role @load
  // CHECK-NOT: warp.consumer
  // CHECK: role @compute
  // CHECK: warp.consumer_wait
  // CHECK: warp.consumer_release
  // CHECK: role @other
  // CHECK-NOT: warp.consumer
  launch.abi @no_rest target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 208, owns = ["o"]>,
                <"other", warps = 4, registers = 24, owns = ["p"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @no_rest(%g: !memory, %out: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %o = arith.constant dense<0.0> : !out
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %k = warp.stage %ks[%z] : !staged to !buffer
    warp.producer_acquire %kp[%z, %z] : !warp.pipeline<2>
    warp.copy async "k" %g[%c0, %c0] dims [0, 1] to %k : !memory to !buffer
    warp.producer_commit %kp[%z, %z] : !warp.pipeline<2>
    warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
    warp.consumer_release %kp[%z, %z] : !warp.pipeline<2>
    tile.store "o" %o, %out[%c0, %c0] dims [0, 1] : !out, !memory
    gpu.return
  }
}
