// A dot keeps the stages that it reads until it completes.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-keep-dots-in-flight)))' --split-input-file -verify-diagnostics

// The next stage is the one that the outstanding dot still reads.
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
    %z = arith.constant 0 : i32
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    %p = warp.pipeline "a" : !warp.pipeline<1>
    %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!acc) {
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<1>
      // expected-error @+1 {{can't keep this dot outstanding: it reads a ring with a single stage, expected at least two}}
      %next = warp.dot "c" %b, %b, %acc : !a, !a, !acc
      // expected-note @+1 {{released here}}
      warp.consumer_release %p[%z, %z] : !warp.pipeline<1>
      scf.yield %next : !acc
    }
    gpu.return
  }
}

// -----

// An iteration that uses a value of the second-last iteration can't be pipelined.
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
    // expected-error @+1 {{the loop can't be pipelined in two stages}}
    %sum, %x, %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero, %xi = %c0, %yi = %c1) -> (!acc, index, index) {
      %next = warp.dot "c" %b, %b, %acc : !a, !a, !acc
      scf.yield %next, %yi, %xi : !acc, index, index
    }
    gpu.return
  }
}
