// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' --split-input-file --verify-diagnostics

!memory = memref<?x32xbf16, strided<[?, 1]>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!tile = tensor<64x32xbf16, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, streams = [<"k", stages = 2>, <"v", with = "w">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %bv = warp.alloc : !buffer
    // expected-error@+1 {{comes with "w", which no copy loads}}
    warp.copy "v" %k[%n, %c0] dims [0, 1] to %bv : !memory to !buffer
    %y = warp.local_load %bv : !buffer to !tile
    gpu.return
  }
}
