// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-keep-dots-in-flight)))' --split-input-file -verify-diagnostics

// A loop that may be empty has no first product.
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
    // expected-note @+1 {{what is known of its bounds lets it run no times}}
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!acc) {
      // expected-error @+1 {{can be kept in flight only in a loop that surely runs once}}
      %next = warp.dot "c" %b, %b, %acc : !a, !a, !acc
      scf.yield %next : !acc
    }
    gpu.return
  }
}

// -----

// Something else in the loop reads the sum: it must be delivered.
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
      // expected-error @+1 {{only a sum that a loop carries, and that nothing else in it reads, can be kept in flight}}
      %next = warp.dot "c" %b, %b, %acc : !a, !a, !acc
      %half = arith.addf %next, %next : !acc
      scf.yield %half : !acc
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
    // expected-error @+1 {{only a sum that a loop carries, and that nothing else in it reads, can be kept in flight}}
    %sum = warp.dot "c" %b, %b, %zero : !a, !a, !acc
    gpu.return
  }
}

// -----

// A first operand in registers would have to stay as it is.
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
      // expected-error @+1 {{only a synchronous dot of operands in shared memory can be kept in flight}}
      %next = warp.dot "c" %x, %b, %acc : tensor<64x64xbf16, #tile.reg>, !a, !acc
      scf.yield %next : !acc
    }
    gpu.return
  }
}

// -----

// The next stage is the one that the product still reads.
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
      // expected-error @+1 {{kept in flight, reads stages of a ring that has no other one}}
      %next = warp.dot "c" %b, %b, %acc : !a, !a, !acc
      // expected-note @+1 {{released here}}
      warp.consumer_release %p[%z, %z] : !warp.pipeline<1>
      scf.yield %next : !acc
    }
    gpu.return
  }
}

// -----

// A round that takes what the one before the last left can't go on in the next one.
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
    // expected-error @+1 {{the loop can't be run in two stages}}
    %sum, %x, %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero, %xi = %c0, %yi = %c1) -> (!acc, index, index) {
      %next = warp.dot "c" %b, %b, %acc : !a, !a, !acc
      scf.yield %next, %yi, %xi : !acc, index, index
    }
    gpu.return
  }
}

// -----

// Where all warps run one program, a product is made when it is issued.
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, dots = [<"c", in_flight>], asked = ["in_flight"]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    // expected-error @+1 {{schedule's 'in_flight' was asked for and can't be done: all warps run one program, or the matrix unit's products are made at once}}
    %s = warp.dot "c" %b, %b, %zero : !a, !a, !acc
    gpu.return
  }
}
