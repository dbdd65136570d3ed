// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sink-mma-waits)))' -verify-diagnostics

// An operand in registers could be overwritten before the dot completes.
!out = memref<?x?xf32, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<64x64xbf16, #tile.reg>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, dots = [<"dq", wait_late>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%C: !out) kernel {
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    %r = warp.local_load %b : !a to !t
    // expected-error @+1 {{found a first operand in registers: 'wait_late' needs operands in shared memory}}
    %dq = warp.dot "dq.0" %r, %b, %zero : !t, !a, !acc
    %c0 = arith.constant 0 : index
    tile.store %dq, %C[%c0, %c0] dims [0, 1] : !acc, !out
    gpu.return
  }
}
