// The accumulator of a loop is read after it, and the loop runs at least once.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' --split-input-file --verify-diagnostics

!operand = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!acc = memref<128x128xf32, #warp.tmem>
!tile = tensor<128x128xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: memref<?x32xbf16, strided<[?, 1]>>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %q = warp.alloc : !operand
    %s = warp.tmem_alloc column(0) : !acc
    // Zero iterations have no accumulator.
    scf.for %j = %c0 to %n step %c1 {
      %later = arith.cmpi ne, %j, %c0 : index
      // expected-error@+1 {{is read after a loop that may run zero iterations}}
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
        warp.tmem_store "u" %old to %s : !tile, !acc
      }
      // expected-error@+1 {{accumulator has no reader: expected an op after the dot's loop that reads it}}
      warp.dot_into "s" %q, %q, %s accumulate(%later) transpose_b : !operand, !operand, !acc
    }
    gpu.return
  }
}
