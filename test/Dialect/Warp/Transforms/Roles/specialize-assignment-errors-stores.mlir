// Several roles may store to one tensor only as parts of one family.
// RUN: fovea-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))'

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %hs = warp.alloc : !ring
    %px = warp.pipeline "x" : !p
    %ph = warp.pipeline "h" : !p
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %hb = warp.stage %hs[%z] : !ring to !buffer
    warp.producer_acquire %px[%z, %z] : !p
    warp.copy async "x" %x[%c0, %c0] dims [0, 1] to %xb : !memory to !buffer
    warp.producer_commit %px[%z, %z] : !p
    warp.consumer_wait %px[%z, %z] : !p
    %t = warp.local_load %xb : !buffer to !t
    warp.producer_acquire %ph[%z, %z] : !p
    warp.local_store "h" %t to %hb : !t, !buffer
    warp.producer_commit %ph[%z, %z] : !p
    warp.consumer_release %px[%z, %z] : !p
    // expected-note @+1 {{the other store}}
    tile.store "a" %t, %y[%c0, %c0] dims [0, 1] : !t, !memory
    warp.consumer_wait %ph[%z, %z] : !p
    %u = warp.local_load %hb : !buffer to !t
    warp.consumer_release %ph[%z, %z] : !p
    // These elements may overlap.
    // expected-error @+1 {{writes, as @right, a tensor that @left writes, too: stores of several roles into one tensor must be parts of one family, as "out.0" and "out.1" are}}
    tile.store "b" %u, %y[%c128, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}
