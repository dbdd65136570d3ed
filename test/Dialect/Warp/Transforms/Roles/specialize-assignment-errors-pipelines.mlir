// Pipelines without a consumer, of unknown origin, or waited for in the wrong ping-pong section.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' --split-input-file --verify-diagnostics

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!p = !warp.pipeline<1>
!s = tensor<128x128xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @no_consumer target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @no_consumer(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %hs = warp.alloc : !ring
    %px = warp.pipeline "x" : !p
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %hb = warp.stage %hs[%z] : !ring to !buffer
    warp.producer_acquire %px[%z, %z] : !p
    warp.copy async "x" %x[%c0, %c0] dims [0, 1] to %xb : !memory to !buffer
    warp.producer_commit %px[%z, %z] : !p
    // expected-error @+1 {{pipeline has no consumer: expected a reader outside its producer role}}
    warp.consumer_wait %px[%z, %z] : !p
    gpu.return
  }

  // The pipeline depends on a condition.
  launch.abi @conditional target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"compute", warps = 8, registers = 152, owns = ["d"]>]>)
    tensors([]) parameters([#launch.scalar<"c", i1>]) grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @conditional(%c: i1) kernel {
    %z = arith.constant 0 : i32
    %left = warp.pipeline "x" : !p
    %right = warp.pipeline "x" : !p
    %either = arith.select %c, %left, %right : !p
    // expected-error @+1 {{expected a pipeline that the kernel creates}}
    warp.producer_acquire %either[%z, %z] : !p
    gpu.return
  }

  // A wait in a ping-pong section for a stage that a warp group releases in a later section.
  launch.abi @later_section target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @later_section(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %hs = warp.alloc : !ring
    %ph = warp.pipeline "x" : !p
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %hb = warp.stage %hs[%z] : !ring to !buffer
    %turns = warp.turns : !warp.turns<2>
    %zs = arith.constant dense<0.0> : tensor<128x128xf32, #warp.wgmma<groups = 2>>
    %c2 = arith.constant 2 : i32
    %one = arith.constant 1 : i32
    %all = scf.for %n = %z to %c2 step %one iter_args(%acc = %zs) -> (tensor<128x128xf32, #warp.wgmma<groups = 2>>) : i32 {
      warp.begin_turn %turns : !warp.turns<2>
      warp.producer_acquire %ph[%z, %z] : !p
      warp.copy async "x" %x[%c0, %c0] dims [0, 1] to %hb : !memory to !buffer
      warp.producer_commit %ph[%z, %z] : !p
      warp.consumer_wait %ph[%z, %z] : !p
      %d0 = warp.dot async "a" %hb, %hb, %acc transpose_b : !buffer, !buffer, !s
      %r0 = warp.dot_wait %d0 : !warp.pending<!s>
      // expected-note @+1 {{released here}}
      warp.consumer_release %ph[%z, %z] : !p
      warp.producer_acquire %ph[%z, %one] : !p
      warp.copy async "x" %x[%c0, %c0] dims [0, 1] to %hb : !memory to !buffer
      warp.producer_commit %ph[%z, %one] : !p
      // The second warp group releases the stage in its own section, which comes next.
      // expected-error @+1 {{deadlock: waits inside a ping-pong section for a stage released in another group's section}}
      warp.consumer_wait %ph[%z, %one] : !p
      %d1 = warp.dot async "a" %hb, %hb, %r0 transpose_b : !buffer, !buffer, !s
      warp.end_turn %turns : !warp.turns<2>
      %r1 = warp.dot_wait %d1 : !warp.pending<!s>
      warp.consumer_release %ph[%z, %one] : !p
      scf.yield %r1 : !s
    }
    gpu.return
  }
}
