// A result in tensor memory must be read, and one dot accumulates into it.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' --split-input-file --verify-diagnostics

!operand = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!acc = memref<128x128xf32, #warp.tmem>
gpu.module @m {
  launch.abi @f target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: memref<?x32xbf16, strided<[?, 1]>>, %n: index) kernel {
    %no = arith.constant false
    %q = warp.alloc : !operand
    %s = warp.tmem_alloc column(0) : !acc
    // expected-error@+1 {{no op reads this result in tensor memory}}
    warp.dot_into "s" %q, %q, %s accumulate(%no) transpose_b : !operand, !operand, !acc
    gpu.return
  }
}

// -----

!operand = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!acc = memref<128x128xf32, #warp.tmem>
!tile = tensor<128x128xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %no = arith.constant false
    %q = warp.alloc : !operand
    %s = warp.tmem_alloc column(0) : !acc
    warp.dot_into "s" %q, %q, %s accumulate(%no) transpose_b : !operand, !operand, !acc
    // expected-error@+1 {{accumulates into the same tensor memory as another dot}}
    warp.dot_into "s" %q, %q, %s accumulate(%no) transpose_b : !operand, !operand, !acc
    %x = warp.tmem_load %s : !acc to !tile
    gpu.return
  }
}
