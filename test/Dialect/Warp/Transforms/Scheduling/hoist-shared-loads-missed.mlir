// If no load can move, a remark gives the reason and the plan changes.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-hoist-shared-loads)))' \
// RUN:   --remarks-filter=schedule 2>&1 >%t.mlir | FileCheck %s
// RUN: FileCheck %s --check-prefix=CODE --implicit-check-not=read_early < %t.mlir
// CODE: <"numbers", stages = 2, staged>
// CODE-LABEL: role @compute
// CODE: warp.fence_stores
// CODE-NEXT: warp.consumer_wait

!numbers = memref<2x1x64xf32, #warp.shared<row_bytes = 128>>
!number = memref<1x64xf32, #warp.shared<row_bytes = 128>>
!tile = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!row = tensor<1x64xf32, #warp.wgmma<groups = 1>>
!acc = tensor<64x64xf32, #warp.wgmma<groups = 1>>
!half = tensor<64x64xbf16, #warp.wgmma<groups = 1>>
gpu.module @kernels {
  launch.abi @read target("sm_90a")
    plan(<#warp.wgmma_unit, tile_n = 64, streams = [<"numbers", stages = 2, staged, read_early>, <"others", stages = 2, staged>],
          roles = [<"numbers", warps = 4, registers = 24, owns = ["numbers", "others"]>,
                   <"compute", warps = 4, registers = 208, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  // CHECK: [[@LINE+1]]:3: remark: [Missed] read_early {{.*}}no read of 'numbers' can move above the preceding fence
  gpu.func @read() kernel {
    %ns = warp.alloc : !numbers
    %os = warp.alloc : !numbers
    %ds = warp.alloc : !tile
    %np = warp.pipeline "numbers" : !warp.pipeline<2>
    %op = warp.pipeline "others" : !warp.pipeline<2>
    %dp = warp.pipeline "ds" : !warp.pipeline<1>
    warp.specialize captures(%ns, %os, %ds, %np, %op, %dp : !numbers, !numbers, !tile, !warp.pipeline<2>, !warp.pipeline<2>, !warp.pipeline<1>)
    role @numbers warps(4) regs(24) {
    ^bb0(%n: !numbers, %o: !numbers, %d: !tile, %p: !warp.pipeline<2>, %q: !warp.pipeline<2>, %r: !warp.pipeline<1>):
      %z = arith.constant 0 : i32
      %row = arith.constant dense<1.0> : !row
      %to = warp.stage %n[%z] : !numbers to !number
      warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
      warp.local_store %row to %to : !row, !number
      warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
      %too = warp.stage %o[%z] : !numbers to !number
      warp.producer_acquire %q[%z, %z] : !warp.pipeline<2>
      warp.local_store %row to %too : !row, !number
      warp.producer_commit %q[%z, %z] : !warp.pipeline<2>
      warp.return
    }
    role @compute warps(4) regs(208) {
    ^bb0(%n: !numbers, %o: !numbers, %d: !tile, %p: !warp.pipeline<2>, %q: !warp.pipeline<2>, %r: !warp.pipeline<1>):
      %z = arith.constant 0 : i32
      %half = arith.constant dense<0.0> : !half
      %from = warp.stage %n[%z] : !numbers to !number
      %other = warp.stage %o[%z] : !numbers to !number
      warp.local_store "ds" %half to %d : !half, !tile
      warp.fence_stores %d : !tile
      warp.consumer_wait %q[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
      %b = warp.local_load %other : !number to !row
      warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
      warp.consumer_release %q[%z, %z] : !warp.pipeline<2>
      warp.return
    }
    gpu.return
  }
}
