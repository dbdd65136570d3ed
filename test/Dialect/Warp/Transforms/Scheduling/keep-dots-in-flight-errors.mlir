// A dot can be kept outstanding through a loop that runs at least once, in a kernel with roles.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-keep-dots-in-flight)))' --split-input-file -verify-diagnostics

// A loop that may be empty has no first dot.
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit,
       dots = [<"c", in_flight>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    // expected-note @+1 {{its known bounds allow zero iterations}}
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!acc) {
      // expected-error @+1 {{can't keep this dot outstanding: expected a loop that runs at least once}}
      %next = warp.dot "c" %b, %b, %acc : !a, !a, !acc
      scf.yield %next : !acc
    }
    gpu.return
  }
}

// -----

// No loop at all.
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit,
       dots = [<"c", in_flight>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    // expected-error @+1 {{can't keep this dot outstanding: expected a loop-carried accumulator that no other op of the loop reads}}
    %sum = warp.dot "c" %b, %b, %zero : !a, !a, !acc
    gpu.return
  }
}

// -----

// Without roles, dots are synchronous.
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, dots = [<"c", in_flight>], asked = ["in_flight"]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    // expected-error @+1 {{schedule's 'in_flight' is user-specified but cannot be applied: the kernel has no roles, or its MMA unit is synchronous}}
    %s = warp.dot "c" %b, %b, %zero : !a, !a, !acc
    gpu.return
  }
}
