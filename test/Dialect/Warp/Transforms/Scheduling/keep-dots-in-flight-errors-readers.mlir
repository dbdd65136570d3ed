// No op of the iteration may need the accumulator or overwrite an operand of the dot.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-keep-dots-in-flight)))' --split-input-file -verify-diagnostics

// Another op of the loop reads the accumulator: the dot must complete.
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit,
       dots = [<"c", in_flight>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!acc) {
      // expected-error @+1 {{can't keep this dot outstanding: expected a loop-carried accumulator that no other op of the loop reads}}
      %next = warp.dot "c" %b, %b, %acc : !a, !a, !acc
      %half = arith.addf %next, %next : !acc
      scf.yield %half : !acc
    }
    gpu.return
  }
}

// -----

// A first operand in registers would have to stay live.
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit,
       dots = [<"c", in_flight>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    %x = arith.constant dense<1.0> : tensor<64x64xbf16, #tile.reg>
    %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!acc) {
      // expected-error @+1 {{can't keep this dot outstanding: expected a synchronous dot with operands in shared memory}}
      %next = warp.dot "c" %x, %b, %acc : tensor<64x64xbf16, #tile.reg>, !a, !acc
      scf.yield %next : !acc
    }
    gpu.return
  }
}
