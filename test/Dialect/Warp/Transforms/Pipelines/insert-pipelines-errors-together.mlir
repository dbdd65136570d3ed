// A companion copy must be in the block of its leader.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' --split-input-file --verify-diagnostics

!memory = memref<?x32xbf16, strided<[?, 1]>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!tile = tensor<64x32xbf16, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, streams = [<"k", stages = 2>, <"v", with = "k">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %bk = warp.alloc : !buffer
    %bv = warp.alloc : !buffer
    warp.copy "k" %k[%n, %c0] dims [0, 1] to %bk : !memory to !buffer
    %x = warp.local_load %bk : !buffer to !tile
    %far = arith.addi %n, %n : index
    // expected-error@+1 {{comes with "k", but its address is not computed before that copy}}
    warp.copy "v" %k[%far, %c0] dims [0, 1] to %bv : !memory to !buffer
    %y = warp.local_load %bv : !buffer to !tile
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!tile = tensor<64x32xbf16, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, streams = [<"k", stages = 2>, <"v", with = "k">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bk = warp.alloc : !buffer
    %bv = warp.alloc : !buffer
    warp.copy "k" %k[%n, %c0] dims [0, 1] to %bk : !memory to !buffer
    %x = warp.local_load %bk : !buffer to !tile
    scf.for %i = %c0 to %n step %c1 {
      // expected-error@+1 {{comes with "k", which is not copied in the same block}}
      warp.copy "v" %k[%i, %c0] dims [0, 1] to %bv : !memory to !buffer
      %y = warp.local_load %bv : !buffer to !tile
    }
    gpu.return
  }
}
