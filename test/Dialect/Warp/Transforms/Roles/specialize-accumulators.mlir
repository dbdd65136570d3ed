// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-print-roles,warp-specialize)))' --split-input-file --verify-diagnostics 2>&1 | FileCheck %s

// The role that issues the dots carries the outstanding accumulator; the producer carries only ring
// positions. A wait belongs to the role of the dots that it may wait for, which are loop-carried
// here.
// CHECK: roles of @f
// CHECK-DAG: warp.await_reads: @compute
// CHECK-DAG: warp.dot_wait: @compute
// CHECK-LABEL: gpu.func @f(
// CHECK: role @load
// CHECK: scf.for {{.*}} -> (i32, i32) {
// CHECK-NOT: warp.pending
// CHECK: role @compute
// CHECK: scf.for {{.*}} -> (!warp.pending<{{.*}}>, i32, i32, i32, i32) {
// CHECK: warp.dot async "c"
// CHECK-NEXT: warp.await_reads
// CHECK-NEXT: warp.consumer_release
// CHECK: warp.dot_wait
!memory = memref<?x?xbf16, strided<[?, 1]>>
!out = memref<?x?xf32, strided<[?, 1]>>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!as = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #warp.wgmma<groups = 1>>
!sum = !warp.pending<!acc>
!p = !warp.pipeline<2>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit,
       order = ["c" + 1, "*" + 1, "c.read"],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x?xbf16>, ["M", "K"], 16>, #launch.tensor<"c", write, tensor<?x?xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"c", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%A: !memory, %C: !out, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : !acc
    %begin = warp.begin_sum %zero : !acc
    %ring = warp.alloc : !as
    %p = warp.pipeline "a" : !p
    warp.producer_acquire %p[%z, %z] : !p
    %t0 = warp.stage %ring[%z] : !as to !a
    warp.copy async "a" %A[%c0, %c0] dims [0, 1] to %t0 : !memory to !a
    warp.producer_commit %p[%z, %z] : !p
    warp.consumer_wait %p[%z, %z] : !p
    %p0 = warp.dot async "c" %t0, %t0, %begin : !a, !a, !sum
    %sum, %s, %f, %s1, %f1 = scf.for %i = %c64 to %n step %c64 iter_args(%d = %p0, %stage = %one, %phase = %z, %last = %z, %then = %z) -> (!sum, i32, i32, i32, i32) {
      warp.producer_acquire %p[%stage, %phase] : !p
      %t = warp.stage %ring[%stage] : !as to !a
      warp.copy async "a" %A[%c0, %i] dims [0, 1] to %t : !memory to !a
      warp.producer_commit %p[%stage, %phase] : !p
      warp.consumer_wait %p[%stage, %phase] : !p
      %next = warp.dot async "c" %t, %t, %d : !a, !a, !sum
      warp.await_reads %d : !sum
      warp.consumer_release %p[%last, %then] : !p
      %other = arith.xori %stage, %one : i32
      %turned = arith.xori %phase, %stage : i32
      scf.yield %next, %other, %turned, %stage, %phase : !sum, i32, i32, i32, i32
    }
    warp.await_reads %sum : !sum
    warp.consumer_release %p[%s1, %f1] : !p
    %tile = warp.dot_wait %sum : !sum
    tile.store %tile, %C[%c0, %c0] dims [0, 1] : !acc, !out
    gpu.return
  }
}
