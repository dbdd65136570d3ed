// Two roles can't both compute a tile, and a role can't write memory that another one reads without
// a pipeline.
// RUN: fovea-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))'

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
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
    %xb = warp.stage %xs[%z] : !ring to !buffer
    // The second role would have to compute it as well.
    // expected-error @+1 {{roles @left, @right need this tile: it must cross through a stream that one role fills and the others read}}
    %t = warp.local_load %xb : !buffer to !t
    %n = arith.negf %t : !t
    tile.store "a" %n, %y[%c0, %c0] dims [0, 1] : !t, !memory
    tile.store "b" %n, %y[%c128, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
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
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %t = warp.local_load %xb : !buffer to !t
    // expected-note @+1 {{used here}}
    tile.store "a" %t, %y[%c0, %c0] dims [0, 1] : !t, !memory
    // No pipeline orders the store before the load.
    %again = tile.load "b" %y[%c0, %c0] dims [0, 1] : !memory to !t
    // expected-error @+1 {{writes, as @right, memory that @left uses, and no stream orders the two}}
    tile.store "b" %again, %y[%c128, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}
