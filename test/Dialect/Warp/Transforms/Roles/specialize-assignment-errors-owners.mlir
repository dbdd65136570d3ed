// Every op with effects needs a role that runs it and its operands.
// RUN: fovea-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))'

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %t = warp.local_load %xb : !buffer to !t
    // expected-error @+1 {{no role runs this: no role owns its name, and none owns "*"}}
    tile.store "c" %t, %y[%c0, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!s = tensor<128x128xf32, #warp.wgmma<groups = 2>>
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
    %z = arith.constant 0 : i32
    %none = arith.constant dense<0.0> : !s
    %xs = warp.alloc : !ring
    %xb = warp.stage %xs[%z] : !ring to !buffer
    // expected-error @+1 {{a role needs the result of an op that it does not own}}
    %d = warp.dot "a" %xb, %xb, %none transpose_b : !buffer, !buffer, !s
    %n = warp.extract_columns %d from 0 : !s to tensor<128x64xf32, #warp.wgmma<groups = 2>>
    %t = arith.truncf %n : tensor<128x64xf32, #warp.wgmma<groups = 2>> to !t
    tile.store "b" %t, %y[%c0, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}
