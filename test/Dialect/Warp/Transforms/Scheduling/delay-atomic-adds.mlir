// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-delay-atomic-adds)))' --split-input-file | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-delay-atomic-adds)))' --split-input-file --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// WHY: two_roles | Stores=2
// WHY: the kernel has no roles, or its MMA unit is synchronous

// Each of two roles adds the tile of the previous iteration after it has issued the first dot of
// this one. These dots are issued where the first of them was; each is waited for at its old
// position.
// CHECK-LABEL: gpu.func @two_roles
// The first iteration adds zeros at its own addresses.
// CHECK: memref.dim
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32
// CHECK: %[[NARROW:.*]] = arith.constant dense<0.000000e+00> : tensor<64x32xf32
// CHECK: %[[FIRST:.*]] = arith.muli %c0{{.*}}, %c64
// CHECK: %[[LAST:.*]]:4 = scf.for %[[I:.*]] = %c0{{.*}} iter_args(%{{.*}} = %{{.*}}, %[[A:.*]] = %[[ZEROS]], %[[B:.*]] = %[[NARROW]], %[[THERE:.*]] = %[[FIRST]])
// CHECK: %[[ROW:.*]] = arith.muli %[[I]], %c64
// CHECK: %[[S0:.*]] = warp.dot async "s.0"
// CHECK-NEXT: %[[S1:.*]] = warp.dot async "s.1"
// CHECK-NEXT: tile.store add "dq_sum.0" %[[A]], %{{.*}}[%[[THERE]], %c0{{.*}}]
// CHECK-NEXT: tile.store add "dq_sum.1" %[[B]], %{{.*}}[%[[THERE]], %c64{{.*}}]
// CHECK-NEXT: %[[W0:.*]] = warp.dot_wait %[[S0]]
// CHECK: math.exp2 %[[W0]]
// CHECK: %[[W1:.*]] = warp.dot_wait %[[S1]]
// CHECK: math.exp2 %[[W1]]
// CHECK: %[[Q0:.*]] = warp.dot "dq.0"
// The plan has no entry for this store.
// CHECK: tile.store add "dq_sum.2"
// CHECK: %[[Q1:.*]] = warp.dot "dq.1"
// CHECK-NOT: tile.store
// CHECK: scf.yield %{{.*}}, %[[Q0]], %[[Q1]], %[[ROW]]
// CHECK: tile.store add "dq_sum.0" %[[LAST]]#1, %{{.*}}[%[[LAST]]#3, %c0{{.*}}]
// CHECK-NEXT: tile.store add "dq_sum.1" %[[LAST]]#2, %{{.*}}[%[[LAST]]#3, %c64{{.*}}]
!out = memref<?x?xf32, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!b = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!acc = tensor<64x64xf32, #tile.reg>
!narrow = tensor<64x32xf32, #tile.reg>
gpu.module @m {
  launch.abi @two_roles target("sm_90a") plan(<#warp.wgmma_unit, stores = [<"dq_sum.0", late>, <"dq_sum.1", late>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"first", warps = 4, registers = 240, owns = ["s.0", "dq.0", "dq_sum.0", "dq_sum.2"]>,
                <"second", warps = 4, registers = 240, owns = ["s.1", "dq.1", "dq_sum.1"]>]>)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @two_roles(%C: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : !acc
    %none = arith.constant dense<0.0> : !narrow
    %k = warp.alloc : !a
    %v = warp.alloc : !b
    %blocks = memref.dim %C, %c0 : !out
    %n = arith.maxsi %blocks, %c1 : index
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> !acc {
      %row = arith.muli %i, %c64 : index
      %s0 = warp.dot "s.0" %k, %k, %zero transpose_b : !a, !a, !acc
      %p0 = math.exp2 %s0 : !acc
      %s1 = warp.dot "s.1" %k, %k, %zero transpose_b : !a, !a, !acc
      %p1 = math.exp2 %s1 : !acc
      %dq0 = warp.dot "dq.0" %k, %k, %zero transpose_a : !a, !a, !acc
      tile.store add "dq_sum.0" %dq0, %C[%row, %c0] dims [0, 1] : !acc, !out
      tile.store add "dq_sum.2" %p0, %C[%row, %c0] dims [0, 1] : !acc, !out
      %dq1 = warp.dot "dq.1" %k, %v, %none transpose_a : !a, !b, !narrow
      tile.store add "dq_sum.1" %dq1, %C[%row, %c64] dims [0, 1] : !narrow, !out
      %next = arith.addf %acc, %p1 : !acc
      scf.yield %next : !acc
    }
    tile.store "out" %sum, %C[%c0, %c0] dims [0, 1] : !acc, !out
    gpu.return
  }
}

// -----

// Without roles, dots are synchronous: nothing changes except the plan.
// CHECK-LABEL: launch.abi @one_program
// CHECK-NOT: late
// CHECK-LABEL: gpu.func @one_program
// CHECK: scf.for
// CHECK: tile.store add "dq_sum"
// CHECK-NEXT: }
!out = memref<?x?xf32, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @one_program target("sm_80") plan(<#warp.mma_sync_unit, stores = [<"dq_sum", late>]>)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @one_program(%C: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant dense<0.0> : !acc
    %k = warp.alloc : !a
    scf.for %i = %c0 to %c2 step %c1 {
      %dq = warp.dot "dq" %k, %k, %zero : !a, !a, !acc
      tile.store add "dq_sum" %dq, %C[%c0, %c0] dims [0, 1] : !acc, !out
    }
    gpu.return
  }
}

// -----

// A scatter that adds to the same memory in the iteration does not depend on earlier additions.
// CHECK-LABEL: gpu.func @scatters
// CHECK: warp.dot async "s"
// CHECK-NEXT: tile.store add "c"
// CHECK: tile.scatter add
!out = memref<?x?xf32, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
!places = tensor<64x64xi32, #tile.reg>
gpu.module @m {
  launch.abi @scatters target("sm_90a") plan(<#warp.wgmma_unit, stores = [<"c", late>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"c", accumulate, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @scatters(%C: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant dense<0.0> : !acc
    %place = arith.constant dense<1> : !places
    %k = warp.alloc : !a
    scf.for %i = %c0 to %c2 step %c1 {
      %s = warp.dot "s" %k, %k, %zero : !a, !a, !acc
      tile.store add "c" %s, %C[%c0, %c0] dims [0, 1] : !acc, !out
      tile.scatter add %s, %C[%place, %place] : !acc, !out[!places, !places]
    }
    gpu.return
  }
}
