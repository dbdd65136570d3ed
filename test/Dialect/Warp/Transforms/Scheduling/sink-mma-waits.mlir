// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sink-mma-waits)))' --split-input-file | FileCheck %s

// Ops between the dot and the first use of its result run while the dot is outstanding. The stage
// that it reads is released after the wait; another stage is released where it was.
// CHECK-LABEL: gpu.func @late
// CHECK: warp.consumer_wait %[[A:.*]][
// CHECK-NEXT: %[[LEFT:.*]] = warp.stage
// CHECK-NEXT: %[[ISSUED:.*]] = warp.dot async "dq.0" %[[LEFT]]
// CHECK-NEXT: %[[SHARE:.*]] = warp.local_load %[[LEFT]]
// CHECK-NEXT: tile.store %[[SHARE]]
// CHECK-NEXT: warp.consumer_release %[[OTHER:.*]][
// CHECK-NEXT: %[[DONE:.*]] = warp.dot_wait %[[ISSUED]]
// CHECK-NEXT: warp.consumer_release %[[A]][
// CHECK-NEXT: tile.store add "dq_sum.0" %[[DONE]]
// The plan has no entry for this dot.
// CHECK-NEXT: %[[NEXT:.*]] = warp.dot "dq.1"
// CHECK-NEXT: arith.constant
// CHECK-NEXT: tile.store add "dq_sum.1" %[[NEXT]]
!out = memref<?x?xf32, strided<[?, 1]>>
!in = memref<?x?xbf16, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!as = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<64x64xbf16, #tile.reg>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @late target("sm_90a") plan(<#warp.wgmma_unit, dots = [<"dq.0", wait_late>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x?xbf16>, ["M", "K"], 16>, #launch.tensor<"s", write, tensor<?x?xbf16>, ["M", "K"], 16>, #launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"s", [0, 1]>, #launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @late(%A: !in, %S: !in, %C: !out) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %zero = arith.constant dense<0.0> : !acc
    %buffer = warp.alloc : !as
    %b = warp.alloc : !a
    %p = warp.pipeline "a" : !warp.pipeline<2>
    %o = warp.pipeline "o" : !warp.pipeline<2>
    warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
    %to = warp.stage %buffer[%z] : !as to !a
    warp.copy async "a" %A[%c0, %c0] dims [0, 1] to %to : !in to !a
    warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
    warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
    %from = warp.stage %buffer[%z] : !as to !a
    %dq = warp.dot "dq.0" %from, %b, %zero transpose_a : !a, !a, !acc
    %share = warp.local_load %from : !a to !t
    tile.store %share, %S[%c0, %c0] dims [0, 1] : !t, !in
    warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
    warp.consumer_release %o[%z, %z] : !warp.pipeline<2>
    tile.store add "dq_sum.0" %dq, %C[%c0, %c0] dims [0, 1] : !acc, !out
    %other = warp.dot "dq.1" %b, %b, %zero : !a, !a, !acc
    %c64 = arith.constant 64 : index
    tile.store add "dq_sum.1" %other, %C[%c64, %c0] dims [0, 1] : !acc, !out
    gpu.return
  }
}

// -----

// A dot whose result is used at once does not change.
// CHECK-LABEL: gpu.func @at_once
// CHECK-NOT: dot_wait
// CHECK: warp.dot "dq.0"
// CHECK-NOT: dot_wait
!out = memref<?x?xf32, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @at_once target("sm_90a") plan(<#warp.wgmma_unit, dots = [<"dq", wait_late>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @at_once(%C: !out) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    %dq = warp.dot "dq.0" %b, %b, %zero : !a, !a, !acc
    tile.store %dq, %C[%c0, %c0] dims [0, 1] : !acc, !out
    gpu.return
  }
}

// -----

// Without roles, dots are synchronous: nothing changes except the plan.
// CHECK-LABEL: launch.abi @one_program
// CHECK-NOT: wait_late
// CHECK-LABEL: gpu.func @one_program
// CHECK-NOT: dot_wait
!out = memref<?x?xf32, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @one_program target("sm_80") plan(<#warp.mma_sync_unit, dots = [<"dq", wait_late>]>)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @one_program(%C: !out) kernel {
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    %dq = warp.dot "dq.0" %b, %b, %zero : !a, !a, !acc
    %c0 = arith.constant 0 : index
    tile.store %dq, %C[%c0, %c0] dims [0, 1] : !acc, !out
    gpu.return
  }
}

// -----

// The wait precedes an op that acquires a stage of its rings again or overwrites a buffer that the
// dot reads.
// CHECK-LABEL: gpu.func @until
// CHECK: %[[ISSUED:.*]] = warp.dot async "s"
// CHECK-NEXT: arith.constant
// CHECK-NEXT: %[[DONE:.*]] = warp.dot_wait %[[ISSUED]]
// CHECK-NEXT: warp.consumer_release %[[P:.*]][%[[Z:.*]], %[[Z]]]
// CHECK-NEXT: warp.producer_acquire %[[P]]
// CHECK: %[[LOADED:.*]] = warp.dot async "s"
// CHECK-NEXT: arith.constant
// CHECK-NEXT: warp.dot_wait %[[LOADED]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: warp.local_store
// CHECK: %[[LAST:.*]] = warp.dot "s"
// CHECK-NEXT: warp.local_store
// CHECK: arith.addf %[[LAST]], %[[DONE]]
!memory = memref<?x64xbf16, strided<[?, 1]>>
!tile = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<1x64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
!half = tensor<64x64xbf16, #tile.reg>
gpu.module @m {
  launch.abi @until target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 64, dots = [<"s", wait_late>],
          roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"g", read, tensor<?x64xbf16>, ["S","D"], 16>]) parameters([#launch.memref<"g", [0, 1]>, #launch.scalar<"c", i1>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @until(%g: !memory, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : !acc
    %half = arith.constant dense<0.0> : !half
    %ring = warp.alloc : !ring
    %buf = warp.alloc : !tile
    %p = warp.pipeline "k" : !warp.pipeline<1>
    %k = warp.stage %ring[%z] : !ring to !tile
    warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
    warp.copy async "k" %g[%c0, %c0] dims [0, 1] to %k : !memory to !tile
    warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
    warp.consumer_wait %p[%z, %z] : !warp.pipeline<1>
    %s = warp.dot "s" %k, %k, %zero transpose_b : !tile, !tile, !acc
    %two = arith.constant 2 : index
    warp.consumer_release %p[%z, %z] : !warp.pipeline<1>
    warp.producer_acquire %p[%z, %one] : !warp.pipeline<1>
    warp.copy async "k" %g[%two, %c0] dims [0, 1] to %k : !memory to !tile
    warp.producer_commit %p[%z, %one] : !warp.pipeline<1>
    warp.consumer_wait %p[%z, %one] : !warp.pipeline<1>
    %t = warp.dot "t" %k, %k, %s transpose_b : !tile, !tile, !acc
    warp.consumer_release %p[%z, %one] : !warp.pipeline<1>
    warp.local_store %half to %buf : !half, !tile
    warp.fence_stores %buf : !tile
    %u = warp.dot "s" %buf, %buf, %zero : !tile, !tile, !acc
    %three = arith.constant 3 : index
    scf.if %c {
      warp.local_store %half to %buf : !half, !tile
      warp.fence_stores %buf : !tile
    }
    %v = warp.dot "s" %buf, %buf, %u : !tile, !tile, !acc
    warp.local_store %half to %buf : !half, !tile
    %sum = arith.addf %v, %s : !acc
    %all = arith.addf %sum, %t : !acc
    %place = arith.addi %two, %three : index
    %r = arith.truncf %all : !acc to !half
    tile.store %r, %g[%place, %c0] dims [0, 1] : !half, !memory
    gpu.return
  }
}
