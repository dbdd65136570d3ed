// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

!p = !warp.pipeline<2>
!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
!ring = memref<2x16x16xf16, #warp.shared<row_bytes = 32>>
#reg = #warp.mma_sync<warps = 1>
!acc = tensor<16x16xf32, #reg>

// A correct program: the previous stage is released while the next dot is outstanding.
gpu.module @m {
  gpu.func @right(%x: memref<?x16xf16>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %acc = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !ring
    %p = warp.pipeline : !p
    %view = warp.stage %b[%z] : !ring to !tile
    warp.producer_acquire %p[%z, %z] : !p
    warp.copy async %x[%c0, %c0] dims [0, 1] to %view : memref<?x16xf16> to !tile
    warp.producer_commit %p[%z, %z] : !p
    warp.consumer_wait %p[%z, %z] : !p
    %d0 = warp.dot async %view, %view, %acc : !tile, !tile, !acc
    %end:5 = scf.for %i = %c16 to %n step %c16 iter_args(%pending = %d0, %s = %z, %ph = %z, %s1 = %one, %ph1 = %z) -> (!warp.pending<!acc>, i32, i32, i32, i32) {
      warp.producer_acquire %p[%s1, %ph1] : !p
      %next = warp.stage %b[%s1] : !ring to !tile
      warp.copy async %x[%i, %c0] dims [0, 1] to %next : memref<?x16xf16> to !tile
      warp.producer_commit %p[%s1, %ph1] : !p
      warp.consumer_wait %p[%s1, %ph1] : !p
      %d1 = warp.dot async %next, %next, %acc : !tile, !tile, !acc
      %r = warp.dot_wait %pending : !warp.pending<!acc>
      warp.consumer_release %p[%s, %ph] : !p
      %s2 = arith.xori %s1, %one : i32
      %ph2 = arith.xori %ph1, %s1 : i32
      scf.yield %d1, %s1, %ph1, %s2, %ph2 : !warp.pending<!acc>, i32, i32, i32, i32
    }
    %r = warp.dot_wait %end#0 : !warp.pending<!acc>
    gpu.return
  }
}
