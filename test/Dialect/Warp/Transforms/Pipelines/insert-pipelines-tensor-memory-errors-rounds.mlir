// The previous iteration's accumulator may be read only in iterations in which the dot adds to it.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' --split-input-file --verify-diagnostics

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
    scf.for %j = %c0 to %c4 step %c1 {
      %later = arith.cmpi ne, %j, %c0 : index
      // expected-error@+1 {{reads the previous iteration's accumulator: expected a branch on the dot's 'accumulate' condition before the dot}}
      %old = warp.tmem_load %s : !acc to !tile
      warp.dot_into "s" %q, %q, %s accumulate(%later) transpose_b : !operand, !operand, !acc
    }
    %x = warp.tmem_load %s : !acc to !tile
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
    scf.for %j = %c0 to %c4 step %c1 {
      %later = arith.cmpi ne, %j, %c0 : index
      scf.if %later {
        %old = warp.tmem_load %s : !acc to !tile
        // expected-error@+1 {{all uses of the previous iteration's accumulator must be in one branch}}
        warp.tmem_store "u" %old to %s : !tile, !acc
      }
      scf.if %later {
        %again = warp.tmem_load %s : !acc to !tile
      }
      warp.dot_into "s" %q, %q, %s accumulate(%later) transpose_b : !operand, !operand, !acc
    }
    %x = warp.tmem_load %s : !acc to !tile
    gpu.return
  }
}
