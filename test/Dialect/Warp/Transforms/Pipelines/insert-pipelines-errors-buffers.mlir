// A copy needs a buffer of its own.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' --split-input-file --verify-diagnostics

!memory = memref<?x32xbf16, strided<[?, 1]>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%k: !memory, %n: index) kernel {
    %yes = arith.constant true
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !buffer
    // expected-error@+1 {{only unconditional copies into a buffer of their own get a pipeline}}
    warp.copy %k[%c0, %c0] if(%yes) dims [0, 1] to %b : !memory to !buffer
    %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !buffer
    warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    // expected-error@+1 {{expected one copy that fills this buffer, and all its readers in one block}}
    warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%k: !memory, %n: index) kernel {
    %yes = arith.constant true
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !buffer
    scf.if %yes {
      warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    }
    // expected-error@+1 {{expected one copy that fills this buffer, and all its readers in one block}}
    %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    gpu.return
  }
}
