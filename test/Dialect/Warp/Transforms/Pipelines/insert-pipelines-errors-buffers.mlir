// A buffer needs one op that fills it, and readers after that op in its block.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' --split-input-file --verify-diagnostics

!memory = memref<?x32xbf16, strided<[?, 1]>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!tile = tensor<64x32xbf16, #tile.reg>
gpu.module @m {
  // A copy needs a buffer of its own.
  launch.abi @conditional target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @conditional(%k: !memory, %n: index) kernel {
    %yes = arith.constant true
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !buffer
    // expected-error@+1 {{only unconditional copies into a buffer of their own get a pipeline}}
    warp.copy %k[%c0, %c0] if(%yes) dims [0, 1] to %b : !memory to !buffer
    %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    gpu.return
  }

  launch.abi @two_copies target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @two_copies(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !buffer
    warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    // expected-error@+1 {{expected one copy that fills this buffer, and all its readers in one block}}
    warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    gpu.return
  }

  launch.abi @copy_in_branch target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @copy_in_branch(%k: !memory, %n: index) kernel {
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

  // A copied buffer must be read, after the copy.
  launch.abi @no_reader target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @no_reader(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !buffer
    // expected-error@+1 {{no op reads the buffer}}
    warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    gpu.return
  }

  launch.abi @early_reader target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @early_reader(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !buffer
    // expected-error@+1 {{reads a buffer before the copy that fills it}}
    %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    gpu.return
  }

  // A stored buffer must be read after the store, and have no other store.
  launch.abi @early_reader_of_store target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @early_reader_of_store() kernel {
    %t = arith.constant dense<1.0> : !tile
    %b = warp.alloc : !buffer
    // expected-error@+1 {{reads a buffer before the store that fills it}}
    %q = warp.local_load %b : !buffer to !tile
    warp.local_store "x" %t to %b : !tile, !buffer
    warp.fence_stores %b : !buffer
    gpu.return
  }

  launch.abi @two_stores target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @two_stores() kernel {
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
