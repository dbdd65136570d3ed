// A dot can be kept outstanding through a loop that runs at least once, in a kernel with roles. No
// op of the iteration may need the accumulator or overwrite an operand of the dot.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops)))' --split-input-file --verify-diagnostics

!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  // A loop that may be empty has no first dot.
  launch.abi @empty_loop target("sm_90a") plan(<#warp.wgmma_unit,
       order = ["c" + 1, "*" + 1, "c.read"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @empty_loop(%n: index) kernel {
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

  // No loop at all.
  launch.abi @no_loop target("sm_90a") plan(<#warp.wgmma_unit,
       order = ["c" + 1, "*" + 1, "c.read"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @no_loop() kernel {
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    // expected-error @+1 {{can't keep this dot outstanding: expected a loop-carried accumulator that no other op of the loop reads}}
    %sum = warp.dot "c" %b, %b, %zero : !a, !a, !acc
    gpu.return
  }

  // Without roles, dots are synchronous.
  launch.abi @no_roles target("sm_80") plan(<#warp.mma_sync_unit, order = ["c" + 1, "*" + 1, "c.read"], asked = ["in_flight"]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // expected-error @+1 {{schedule's 'in_flight' is user-specified but cannot be applied: the kernel has no roles, or its MMA unit is synchronous}}
  gpu.func @no_roles() kernel {
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    %s = warp.dot "c" %b, %b, %zero : !a, !a, !acc
    gpu.return
  }

  // Another op of the loop reads the accumulator: the dot must complete.
  launch.abi @other_reader target("sm_90a") plan(<#warp.wgmma_unit,
       order = ["c" + 1, "*" + 1, "c.read"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @other_reader() kernel {
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

  // A first operand in registers would have to stay live.
  launch.abi @register_operand target("sm_90a") plan(<#warp.wgmma_unit,
       order = ["c" + 1, "*" + 1, "c.read"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @register_operand() kernel {
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

  // The next stage is the one that the outstanding dot still reads.
  launch.abi @single_stage target("sm_90a") plan(<#warp.wgmma_unit,
       order = ["c" + 1, "*" + 1, "c.read"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x64xbf16>, ["M", "K"], 16>]) parameters([#launch.memref<"a", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @single_stage(%A: memref<?x64xbf16, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %z = arith.constant 0 : i32
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    %p = warp.pipeline "a" : !warp.pipeline<1>
    %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!acc) {
      warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
      warp.copy async "a" %A[%i, %c0] dims [0, 1] to %b : memref<?x64xbf16, strided<[?, 1]>> to !a
      warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<1>
      // expected-error @+2 {{the plan's order is illegal: 'c' must run after 'c.read' of iteration i - 1, because the stages of "a" lie in between, but the order lists 'c' before 'c.read'}}
      // expected-note @+1 {{the other op is here}}
      %next = warp.dot "c" %b, %b, %acc : !a, !a, !acc
      warp.consumer_release %p[%z, %z] : !warp.pipeline<1>
      scf.yield %next : !acc
    }
    gpu.return
  }

  // An iteration that uses a value of the second-last iteration can't be pipelined.
  launch.abi @second_last_iteration target("sm_90a") plan(<#warp.wgmma_unit,
       order = ["c" + 1, "*" + 1, "c.read"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @second_last_iteration() kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    // expected-error @+1 {{this loop can't be pipelined}}
    %sum, %x, %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero, %xi = %c0, %yi = %c1) -> (!acc, index, index) {
      %next = warp.dot "c" %b, %b, %acc : !a, !a, !acc
      scf.yield %next, %yi, %xi : !acc, index, index
    }
    gpu.return
  }
}
