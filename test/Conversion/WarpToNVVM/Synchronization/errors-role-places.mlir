// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file --verify-diagnostics

gpu.module @m {
  launch.abi @nested target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([#launch.scalar<"yes", i1>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @nested(%yes: i1) kernel {
    scf.if %yes {
      // expected-error@+1 {{must be in the kernel's entry block}}
      warp.specialize role @compute warps(4) regs(240) { warp.return }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @two target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @two() kernel {
    warp.specialize role @compute warps(4) regs(240) { warp.return }
    // expected-error@+1 {{is the second one of the kernel: expected at most one}}
    warp.specialize role @more warps(4) regs(240) { warp.return }
    gpu.return
  }
}

// -----

// All uses of the turns must be in one role.
gpu.module @m {
  launch.abi @turns target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(16384)
  gpu.func @turns() kernel {
    %t = warp.turns : !warp.turns<2>
    warp.specialize captures(%t : !warp.turns<2>)
      role @load warps(4) regs(24) {
      ^bb0(%t0: !warp.turns<2>):
        // expected-error@+1 {{must be in the same role as all other uses}}
        warp.begin_turn %t0 : !warp.turns<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%t0: !warp.turns<2>):
        warp.begin_turn %t0 : !warp.turns<2>
        warp.end_turn %t0 : !warp.turns<2>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @many_turns target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(16384)
  gpu.func @many_turns() kernel {
    %t0 = warp.turns : !warp.turns<2>
    %t1 = warp.turns : !warp.turns<2>
    %t2 = warp.turns : !warp.turns<2>
    %t3 = warp.turns : !warp.turns<2>
    %t4 = warp.turns : !warp.turns<2>
    %t5 = warp.turns : !warp.turns<2>
    %t6 = warp.turns : !warp.turns<2>
    // expected-error@+1 {{needs a named barrier for each of 2 warp groups, but a CTA has 15 in all}}
    %t7 = warp.turns : !warp.turns<2>
    warp.specialize captures(%t0, %t1, %t2, %t3, %t4, %t5, %t6, %t7 : !warp.turns<2>, !warp.turns<2>, !warp.turns<2>, !warp.turns<2>, !warp.turns<2>, !warp.turns<2>, !warp.turns<2>, !warp.turns<2>)
      role @compute warps(8) regs(240) {
      ^bb0(%a0: !warp.turns<2>, %a1: !warp.turns<2>, %a2: !warp.turns<2>, %a3: !warp.turns<2>, %a4: !warp.turns<2>, %a5: !warp.turns<2>, %a6: !warp.turns<2>, %a7: !warp.turns<2>):
        warp.begin_turn %a0 : !warp.turns<2>
        warp.end_turn %a0 : !warp.turns<2>
        warp.begin_turn %a1 : !warp.turns<2>
        warp.end_turn %a1 : !warp.turns<2>
        warp.begin_turn %a2 : !warp.turns<2>
        warp.end_turn %a2 : !warp.turns<2>
        warp.begin_turn %a3 : !warp.turns<2>
        warp.end_turn %a3 : !warp.turns<2>
        warp.begin_turn %a4 : !warp.turns<2>
        warp.end_turn %a4 : !warp.turns<2>
        warp.begin_turn %a5 : !warp.turns<2>
        warp.end_turn %a5 : !warp.turns<2>
        warp.begin_turn %a6 : !warp.turns<2>
        warp.end_turn %a6 : !warp.turns<2>
        warp.begin_turn %a7 : !warp.turns<2>
        warp.end_turn %a7 : !warp.turns<2>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @zero_rows_behind_turns target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(16384)
  gpu.func @zero_rows_behind_turns() kernel {
    %v = warp.alloc offset(0) : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    %t0 = warp.turns : !warp.turns<2>
    %t1 = warp.turns : !warp.turns<2>
    %t2 = warp.turns : !warp.turns<2>
    %t3 = warp.turns : !warp.turns<2>
    %t4 = warp.turns : !warp.turns<2>
    %t5 = warp.turns : !warp.turns<2>
    %t6 = warp.turns : !warp.turns<2>
    warp.specialize captures(%v, %t0, %t1, %t2, %t3, %t4, %t5, %t6 : memref<64x64xbf16, #warp.shared<row_bytes = 128>>, !warp.turns<2>, !warp.turns<2>, !warp.turns<2>, !warp.turns<2>, !warp.turns<2>, !warp.turns<2>, !warp.turns<2>)
      role @compute warps(8) regs(240) {
      ^bb0(%v0: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %a0: !warp.turns<2>, %a1: !warp.turns<2>, %a2: !warp.turns<2>, %a3: !warp.turns<2>, %a4: !warp.turns<2>, %a5: !warp.turns<2>, %a6: !warp.turns<2>):
        %c0 = arith.constant 0 : index
        warp.begin_turn %a0 : !warp.turns<2>
        warp.end_turn %a0 : !warp.turns<2>
        warp.begin_turn %a1 : !warp.turns<2>
        warp.end_turn %a1 : !warp.turns<2>
        warp.begin_turn %a2 : !warp.turns<2>
        warp.end_turn %a2 : !warp.turns<2>
        warp.begin_turn %a3 : !warp.turns<2>
        warp.end_turn %a3 : !warp.turns<2>
        warp.begin_turn %a4 : !warp.turns<2>
        warp.end_turn %a4 : !warp.turns<2>
        warp.begin_turn %a5 : !warp.turns<2>
        warp.end_turn %a5 : !warp.turns<2>
        warp.begin_turn %a6 : !warp.turns<2>
        warp.end_turn %a6 : !warp.turns<2>
        // expected-error@+1 {{needs a named barrier for each of 2 warp groups, but a CTA has 15 in all}}
        warp.zero_rows %v0 from %c0 : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @parted_rows target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (2)>) threads(128) shared_memory(16384) cluster(2)
  gpu.func @parted_rows() kernel {
    %v = warp.alloc offset(0) : memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>
    warp.specialize captures(%v : memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>) cluster(2)
      role @compute warps(4) regs(240) {
      ^bb0(%v0: memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>):
        %c0 = arith.constant 0 : index
        // expected-error@+1 {{is not supported for rows partitioned among CTAs, found}}
        warp.zero_rows %v0 from %c0 : memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @stage_of_stage target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(32768)
  gpu.func @stage_of_stage() kernel {
    %v = warp.alloc offset(0) : memref<2x2x64x64xbf16, #warp.shared<row_bytes = 128>>
    warp.specialize captures(%v : memref<2x2x64x64xbf16, #warp.shared<row_bytes = 128>>)
      role @compute warps(4) regs(240) {
      ^bb0(%v0: memref<2x2x64x64xbf16, #warp.shared<row_bytes = 128>>):
        %z = arith.constant 0 : i32
        %c0 = arith.constant 0 : index
        %s = warp.stage %v0[%z] : memref<2x2x64x64xbf16, #warp.shared<row_bytes = 128>> to memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
        %b = warp.stage %s[%z] : memref<2x64x64xbf16, #warp.shared<row_bytes = 128>> to memref<64x64xbf16, #warp.shared<row_bytes = 128>>
        // expected-error@+1 {{needs a shared buffer or a stage of one}}
        warp.zero_rows %b from %c0 : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @lanes target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @lanes() kernel {
    %v = warp.alloc offset(0) : memref<1x32xf32, #warp.shared<row_bytes = 128>>
    warp.specialize captures(%v : memref<1x32xf32, #warp.shared<row_bytes = 128>>)
      role @compute warps(4) regs(240) {
      ^bb0(%v0: memref<1x32xf32, #warp.shared<row_bytes = 128>>):
        %x = arith.constant dense<1.0> : tensor<1x32xf32, #warp.lanes>
        // expected-error@+1 {{stores a tile that each warp holds whole: expected a role of one warp}}
        warp.local_store %x to %v0 : tensor<1x32xf32, #warp.lanes>, memref<1x32xf32, #warp.shared<row_bytes = 128>>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @not_placed target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8192)
  gpu.func @not_placed() kernel {
    // expected-error@+1 {{shared buffer has no offset; run 'warp-allocate-shared-memory' first}}
    %v = warp.alloc : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    warp.specialize captures(%v : memref<64x64xbf16, #warp.shared<row_bytes = 128>>)
      role @compute warps(4) regs(240) {
      ^bb0(%v0: memref<64x64xbf16, #warp.shared<row_bytes = 128>>):
        %c0 = arith.constant 0 : index
        warp.zero_rows %v0 from %c0 : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
        warp.return
      }
    gpu.return
  }
}
