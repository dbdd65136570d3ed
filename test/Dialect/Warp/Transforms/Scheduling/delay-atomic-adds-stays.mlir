// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-delay-atomic-adds)))' --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s

// Additions that can't be delayed stay in their iteration, and a remark gives the reason.
!out = memref<?x?xf32, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<64x64xbf16, #tile.reg>
!acc = tensor<64x64xf32, #tile.reg>
#p = #plan.kernel<#warp.wgmma_unit, stores = [<"c", late>],
  roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>
gpu.module @m {
  launch.abi @may_be_empty target("sm_90a") plan(#p)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @may_be_empty(%C: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %k = warp.alloc : !a
    %n = memref.dim %C, %c0 : !out
    scf.for %i = %c0 to %n step %c1 {
      %s = warp.dot "s" %k, %k, %zero : !a, !a, !acc
      // CHECK: [[@LINE+1]]:7: remark: [Missed] late {{.*}}its loop may run zero iterations
      tile.store add "c" %s, %C[%c0, %c0] dims [0, 1] : !acc, !out
    }
    gpu.return
  }

  launch.abi @no_loop target("sm_90a") plan(#p)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @no_loop(%C: !out) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : !acc
    // CHECK: [[@LINE+1]]:5: remark: [Missed] late {{.*}}it is in no loop
    tile.store add "c" %zero, %C[%c0, %c0] dims [0, 1] : !acc, !out
    gpu.return
  }

  launch.abi @stores target("sm_90a") plan(#p)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @stores(%C: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant dense<0.0> : !acc
    %k = warp.alloc : !a
    scf.for %i = %c0 to %c2 step %c1 {
      %s = warp.dot "s" %k, %k, %zero : !a, !a, !acc
      // CHECK: [[@LINE+1]]:7: remark: [Missed] late {{.*}}it does not add
      tile.store "c" %s, %C[%c0, %c0] dims [0, 1] : !acc, !out
    }
    gpu.return
  }

  launch.abi @read_place target("sm_90a") plan(#p)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>, #launch.tensor<"places", read, tensor<?xi64>, ["M"], 8>])
    parameters([#launch.memref<"c", [0, 1]>, #launch.memref<"places", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @read_place(%C: !out, %P: memref<?xi64, strided<[?]>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant dense<0.0> : !acc
    %k = warp.alloc : !a
    scf.for %i = %c0 to %c2 step %c1 {
      %place = memref.load %P[%i] : memref<?xi64, strided<[?]>>
      %row = arith.index_cast %place : i64 to index
      %s = warp.dot "s" %k, %k, %zero : !a, !a, !acc
      // CHECK: [[@LINE+1]]:7: remark: [Missed] late {{.*}}its address depends on an op of its loop that has effects or regions
      tile.store add "c" %s, %C[%row, %c0] dims [0, 1] : !acc, !out
    }
    gpu.return
  }

  launch.abi @no_product target("sm_90a") plan(#p)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @no_product(%C: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant dense<0.0> : !acc
    scf.for %i = %c0 to %c2 step %c1 {
      // CHECK: [[@LINE+1]]:7: remark: [Missed] late {{.*}}its owner has no dot in the loop
      tile.store add "c" %zero, %C[%c0, %c0] dims [0, 1] : !acc, !out
    }
    gpu.return
  }

  launch.abi @product_behind target("sm_90a") plan(#p)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @product_behind(%C: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant dense<0.0> : !acc
    %k = warp.alloc : !a
    %last = scf.for %i = %c0 to %c2 step %c1 iter_args(%s = %zero) -> !acc {
      // CHECK: [[@LINE+1]]:7: remark: [Missed] late {{.*}}its owner has no dot before it
      tile.store add "c" %s, %C[%c0, %c0] dims [0, 1] : !acc, !out
      %next = warp.dot "s" %k, %k, %zero : !a, !a, !acc
      scf.yield %next : !acc
    }
    tile.store "last" %last, %C[%c0, %c0] dims [0, 1] : !acc, !out
    gpu.return
  }

  launch.abi @registers target("sm_90a") plan(#p)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @registers(%C: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant dense<0.0> : !acc
    %k = warp.alloc : !a
    scf.for %i = %c0 to %c2 step %c1 {
      %a = warp.local_load %k : !a to !t
      %s = warp.dot "s" %a, %k, %zero : !t, !a, !acc
      // CHECK: [[@LINE+1]]:7: remark: [Missed] late {{.*}}the first dots of the owners can't be issued together
      tile.store add "c" %s, %C[%c0, %c0] dims [0, 1] : !acc, !out
    }
    gpu.return
  }

  launch.abi @turns target("sm_90a") plan(#p)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>, #launch.tensor<"turns", write, tensor<?xi32>, ["M"], 4>])
    parameters([#launch.memref<"c", [0, 1]>, #launch.memref<"turns", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @turns(%C: !out, %turns: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %one = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : !acc
    %k = warp.alloc : !a
    scf.for %i = %c0 to %c2 step %c1 {
      %s = warp.dot "s" %k, %k, %zero : !a, !a, !acc
      tile.semaphore_wait "turn_acquire" %turns[%i] for %one : memref<?xi32>
      // CHECK: [[@LINE+1]]:7: remark: [Missed] late {{.*}}its loop waits for or releases a semaphore
      tile.store add "c" %s, %C[%c0, %c0] dims [0, 1] : !acc, !out
    }
    gpu.return
  }

  launch.abi @read_back target("sm_90a") plan(#p)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @read_back(%C: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant dense<0.0> : !acc
    %k = warp.alloc : !a
    scf.for %i = %c0 to %c2 step %c1 {
      %s = warp.dot "s" %k, %k, %zero : !a, !a, !acc
      // CHECK: [[@LINE+1]]:7: remark: [Missed] late {{.*}}its loop reads or overwrites the memory that it adds to
      tile.store add "c" %s, %C[%c0, %c0] dims [0, 1] : !acc, !out
      tile.store "again" %s, %C[%c0, %c0] dims [0, 1] : !acc, !out
    }
    gpu.return
  }
}
