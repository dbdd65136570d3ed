// A stored buffer must be read after the store, and have no other store.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' --split-input-file --verify-diagnostics

!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!tile = tensor<64x32xbf16, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f() kernel {
    %t = arith.constant dense<1.0> : !tile
    %b = warp.alloc : !buffer
    // expected-error@+1 {{reads a buffer before the store that fills it}}
    %q = warp.local_load %b : !buffer to !tile
    warp.local_store "x" %t to %b : !tile, !buffer
    warp.fence_stores %b : !buffer
    gpu.return
  }
}

// -----

!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!tile = tensor<64x32xbf16, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f() kernel {
    %t = arith.constant dense<1.0> : !tile
    %b = warp.alloc : !buffer
    warp.local_store "x" %t to %b : !tile, !buffer
    // expected-error@+1 {{expected one store that fills this buffer, and all its readers in one block}}
    warp.local_store "x" %t to %b : !tile, !buffer
    warp.fence_stores %b : !buffer
    %q = warp.local_load %b : !buffer to !tile
    gpu.return
  }
}
