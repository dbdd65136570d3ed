// Kernels, loops and copies without a pipeline.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' --split-input-file --verify-diagnostics

!memory = memref<?x32xbf16, strided<[?, 1]>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!tile = tensor<64x32xbf16, #tile.reg>
gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @no_abi() kernel {
    gpu.return
  }

  launch.abi @branch target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @branch(%k: !memory, %n: index) kernel {
    %yes = arith.constant true
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !buffer
    // expected-error@+1 {{can't carry a pipeline's state through this loop}}
    scf.if %yes {
      warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
      %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    }
    gpu.return
  }

  launch.abi @stage_view target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @stage_view(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %all = warp.alloc : memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
    %b = warp.stage %all[%z] : memref<2x64x32xbf16, #warp.shared<row_bytes = 64>> to !buffer
    // expected-error@+1 {{only unconditional copies into a buffer of their own get a pipeline}}
    warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    gpu.return
  }

  launch.abi @while_loop target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @while_loop(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %b = warp.alloc : !buffer
    // expected-error@+1 {{can't carry a pipeline's state through this loop}}
    %r = scf.while (%i = %c0) : (index) -> (index) {
      warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
      %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
      %more = arith.cmpi ult, %i, %n : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %next = arith.addi %i, %c64 : index
      scf.yield %next : index
    }
    gpu.return
  }

  launch.abi @no_leader target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, streams = [<"k", stages = 2>, <"v", with = "w">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @no_leader(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %bv = warp.alloc : !buffer
    // expected-error@+1 {{shares the pipeline of "w", which no copy loads}}
    warp.copy "v" %k[%n, %c0] dims [0, 1] to %bv : !memory to !buffer
    %y = warp.local_load %bv : !buffer to !tile
    gpu.return
  }

  // A companion copy must be in the block of its leader.
  launch.abi @late_address target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, streams = [<"k", stages = 2>, <"v", with = "k">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @late_address(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %bk = warp.alloc : !buffer
    %bv = warp.alloc : !buffer
    warp.copy "k" %k[%n, %c0] dims [0, 1] to %bk : !memory to !buffer
    %x = warp.local_load %bk : !buffer to !tile
    %far = arith.addi %n, %n : index
    // expected-error@+1 {{shares the pipeline of "k", but its address is not computed before that copy}}
    warp.copy "v" %k[%far, %c0] dims [0, 1] to %bv : !memory to !buffer
    %y = warp.local_load %bv : !buffer to !tile
    gpu.return
  }

  launch.abi @other_block target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, streams = [<"k", stages = 2>, <"v", with = "k">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @other_block(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bk = warp.alloc : !buffer
    %bv = warp.alloc : !buffer
    warp.copy "k" %k[%n, %c0] dims [0, 1] to %bk : !memory to !buffer
    %x = warp.local_load %bk : !buffer to !tile
    scf.for %i = %c0 to %n step %c1 {
      // expected-error@+1 {{shares the pipeline of "k", which is not copied in the same block}}
      warp.copy "v" %k[%i, %c0] dims [0, 1] to %bv : !memory to !buffer
      %y = warp.local_load %bv : !buffer to !tile
    }
    gpu.return
  }
}
