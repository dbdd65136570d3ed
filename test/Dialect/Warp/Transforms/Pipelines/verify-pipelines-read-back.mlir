// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

// The only warp group of a role owns all rows of the stages that it fills: it may read them back
// transposed or as a second operand without a wait.
!tile = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
#acc = #warp.wgmma<groups = 1>
#one = #warp.wgmma<groups = 1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit>) tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%n: index) kernel {
    %ring = warp.alloc : !ring
    %p = warp.pipeline "ds" : !warp.pipeline<2>
    warp.specialize captures(%ring, %p, %n : !ring, !warp.pipeline<2>, index)
      role @fill warps(4) regs(120) {
      ^bb0(%ring0: !ring, %p0: !warp.pipeline<2>, %n0: index):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %x = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
        %s = arith.constant dense<0.0> : tensor<64x64xf32, #one>
        %r:2 = scf.for %i = %c0 to %n0 step %c1 iter_args(%stage = %zero, %phase = %zero) -> (i32, i32) {
          warp.producer_acquire %p0[%stage, %phase] : !warp.pipeline<2>
          %t = warp.stage %ring0[%stage] : !ring to !tile
          warp.local_store "ds" %x to %t : tensor<64x64xbf16, #acc>, !tile
          warp.fence_stores %t : !tile
          warp.producer_commit %p0[%stage, %phase] : !warp.pipeline<2>
          %d = warp.dot %t, %t, %s transpose_a : !tile, !tile, tensor<64x64xf32, #one>
          %next = arith.subi %one, %stage : i32
          %flip = arith.xori %phase, %stage : i32
          scf.yield %next, %flip : i32, i32
        }
        warp.return
      }
      role @read warps(4) regs(120) {
      ^bb0(%ring0: !ring, %p0: !warp.pipeline<2>, %n0: index):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %s = arith.constant dense<0.0> : tensor<64x64xf32, #one>
        %r:2 = scf.for %i = %c0 to %n0 step %c1 iter_args(%stage = %zero, %phase = %zero) -> (i32, i32) {
          warp.consumer_wait %p0[%stage, %phase] : !warp.pipeline<2>
          %t = warp.stage %ring0[%stage] : !ring to !tile
          %d = warp.dot %t, %t, %s transpose_a : !tile, !tile, tensor<64x64xf32, #one>
          warp.consumer_release %p0[%stage, %phase] : !warp.pipeline<2>
          %next = arith.subi %one, %stage : i32
          %flip = arith.xori %phase, %stage : i32
          scf.yield %next, %flip : i32, i32
        }
        warp.return
      }
    gpu.return
  }
}

// -----

// Each of two warp groups owns its own rows; a transposed operand needs the rows of both.
!tile = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>
#acc = #warp.wgmma<groups = 2>
#one = #warp.wgmma<groups = 1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit>) tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%n: index) kernel {
    %ring = warp.alloc : !ring
    %p = warp.pipeline "ds" : !warp.pipeline<2>
    // expected-note @-1 {{the pipeline}}
    warp.specialize captures(%ring, %p, %n : !ring, !warp.pipeline<2>, index)
      role @fill warps(8) regs(120) {
      ^bb0(%ring0: !ring, %p0: !warp.pipeline<2>, %n0: index):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %x = arith.constant dense<1.0> : tensor<128x64xbf16, #acc>
        %s = arith.constant dense<0.0> : tensor<64x64xf32, #one>
        %r:2 = scf.for %i = %c0 to %n0 step %c1 iter_args(%stage = %zero, %phase = %zero) -> (i32, i32) {
          warp.producer_acquire %p0[%stage, %phase] : !warp.pipeline<2>
          %t = warp.stage %ring0[%stage] : !ring to !tile
          warp.local_store "ds" %x to %t : tensor<128x64xbf16, #acc>, !tile
          warp.fence_stores %t : !tile
          warp.producer_commit %p0[%stage, %phase] : !warp.pipeline<2>
          // expected-error @+1 {{role 'fill' reads a buffer and never waits for the pipeline that fills it}}
          %d = warp.dot %t, %t, %s transpose_a : !tile, !tile, tensor<64x64xf32, #one>
          %next = arith.subi %one, %stage : i32
          %flip = arith.xori %phase, %stage : i32
          scf.yield %next, %flip : i32, i32
        }
        warp.return
      }
      role @read warps(4) regs(120) {
      ^bb0(%ring0: !ring, %p0: !warp.pipeline<2>, %n0: index):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %s = arith.constant dense<0.0> : tensor<64x64xf32, #one>
        %r:2 = scf.for %i = %c0 to %n0 step %c1 iter_args(%stage = %zero, %phase = %zero) -> (i32, i32) {
          warp.consumer_wait %p0[%stage, %phase] : !warp.pipeline<2>
          %t = warp.stage %ring0[%stage] : !ring to !tile
          %d = warp.dot %t, %t, %s transpose_a : !tile, !tile, tensor<64x64xf32, #one>
          warp.consumer_release %p0[%stage, %phase] : !warp.pipeline<2>
          %next = arith.subi %one, %stage : i32
          %flip = arith.xori %phase, %stage : i32
          scf.yield %next, %flip : i32, i32
        }
        warp.return
      }
    gpu.return
  }
}
