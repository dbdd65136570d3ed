// Results of dots in tensor memory, and their readers.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' --split-input-file --verify-diagnostics

!operand = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!acc = memref<128x128xf32, #warp.tmem>
!tile = tensor<128x128xf32, #tile.reg>
gpu.module @m {
  // A result in tensor memory must be read, and one dot accumulates into it.
  launch.abi @no_reader target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @no_reader(%k: memref<?x32xbf16, strided<[?, 1]>>, %n: index) kernel {
    %no = arith.constant false
    %q = warp.alloc : !operand
    %s = warp.tmem_alloc column(0) : !acc
    // expected-error@+1 {{no op reads this result in tensor memory}}
    warp.dot_into "s" %q, %q, %s accumulate(%no) transpose_b : !operand, !operand, !acc
    gpu.return
  }

  launch.abi @two_dots target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @two_dots() kernel {
    %no = arith.constant false
    %q = warp.alloc : !operand
    %s = warp.tmem_alloc column(0) : !acc
    warp.dot_into "s" %q, %q, %s accumulate(%no) transpose_b : !operand, !operand, !acc
    // expected-error@+1 {{accumulates into the same tensor memory as another dot}}
    warp.dot_into "s" %q, %q, %s accumulate(%no) transpose_b : !operand, !operand, !acc
    %x = warp.tmem_load %s : !acc to !tile
    gpu.return
  }

  // A result in tensor memory must be read after the op, and an accumulator after its loop.
  launch.abi @early_reader target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       streams = [<"p", staged, over = "s">],
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @early_reader() kernel {
    %s = warp.tmem_alloc column(0) : !acc
    %p = warp.tmem_view %s from 64 : !acc to memref<128x128xbf16, #warp.tmem>
    %w = arith.constant dense<0.0> : tensor<128x128xbf16, #tile.reg>
    %early = warp.tmem_load %p : memref<128x128xbf16, #warp.tmem> to tensor<128x128xbf16, #tile.reg>
    // expected-error@+1 {{has a reader before it or in another block: expected all readers after it in its block}}
    warp.tmem_store "p" %w to %p : tensor<128x128xbf16, #tile.reg>, memref<128x128xbf16, #warp.tmem>
    gpu.return
  }

  launch.abi @reader_in_loop target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @reader_in_loop() kernel {
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

  // The accumulator of a loop is read after it, and the loop runs at least once.
  launch.abi @empty_loop target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @empty_loop(%k: memref<?x32xbf16, strided<[?, 1]>>, %n: index) kernel {
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

  launch.abi @unread_accumulator target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @unread_accumulator() kernel {
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

  // The previous iteration's accumulator may be read only in iterations in which the dot adds to
  // it.
  launch.abi @unconditional_read target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @unconditional_read() kernel {
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

  launch.abi @two_branches target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, row_tiles = 1,
       roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @two_branches() kernel {
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
