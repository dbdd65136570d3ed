// Pipelines without a consumer, and a ring that depends on a condition.
// RUN: fovea-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))'

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory, %y: !memory) kernel {
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
}

// -----

// The pipeline depends on a condition.
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"compute", warps = 8, registers = 152, owns = ["d"]>]>)
    tensors([]) parameters([#launch.scalar<"c", i1>]) grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%c: i1) kernel {
    %z = arith.constant 0 : i32
    %left = warp.pipeline "x" : !p
    %right = warp.pipeline "x" : !p
    %either = arith.select %c, %left, %right : !p
    // expected-error @+1 {{expected a pipeline that the kernel creates}}
    warp.producer_acquire %either[%z, %z] : !p
    gpu.return
  }
}
