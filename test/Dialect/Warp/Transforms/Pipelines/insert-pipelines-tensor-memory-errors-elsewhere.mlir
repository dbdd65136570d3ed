// A result in tensor memory must be read after the op, and an accumulator after its loop.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' --split-input-file --verify-diagnostics

!acc = memref<128x128xf32, #warp.tmem>
gpu.module @m {
  launch.abi @f target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       streams = [<"p", staged, over = "s">],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %s = warp.tmem_alloc column(0) : !acc
    %p = warp.tmem_view %s from 64 : !acc to memref<128x128xbf16, #warp.tmem>
    %w = arith.constant dense<0.0> : tensor<128x128xbf16, #tile.reg>
    %early = warp.tmem_load %p : memref<128x128xbf16, #warp.tmem> to tensor<128x128xbf16, #tile.reg>
    // expected-error@+1 {{has a reader before it or in another block: expected all readers after it in its block}}
    warp.tmem_store "p" %w to %p : tensor<128x128xbf16, #tile.reg>, memref<128x128xbf16, #warp.tmem>
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
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %q = warp.alloc : !operand
    %s = warp.tmem_alloc column(0) : !acc
    // expected-error@+1 {{reads an accumulator: expected a position after the loop that computes it}}
    %early = warp.tmem_load %s : !acc to !tile
    scf.for %j = %c0 to %c4 step %c1 {
      %later = arith.cmpi ne, %j, %c0 : index
      warp.dot_into "s" %q, %q, %s accumulate(%later) transpose_b : !operand, !operand, !acc
    }
    %x = warp.tmem_load %s : !acc to !tile
    gpu.return
  }
}
