// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-keep-dots-in-flight,canonicalize)))' --split-input-file | FileCheck %s

// Not requested, or a dot with another name: nothing changes.
// CHECK-LABEL: gpu.func @other
// CHECK-NOT: warp.begin_sum
// CHECK: scf.for
// CHECK: warp.dot "o"
!out = memref<?x?xf32, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @other target("sm_90a") plan(<#warp.wgmma_unit,
       dots = [<"c", in_flight>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"c", [0, 1]>, #launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @other(%C: !out, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!acc) {
      %next = warp.dot "o" %b, %b, %acc : !a, !a, !acc
      scf.yield %next : !acc
    }
    tile.store %sum, %C[%c0, %c0] dims [0, 1] : !acc, !out
    gpu.return
  }
}
