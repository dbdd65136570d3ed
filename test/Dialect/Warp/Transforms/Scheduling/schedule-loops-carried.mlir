// A loop-carried dot: only the issue of "s" moves one block ahead, with the copies of its operand,
// after the last of its role's other dots and before the wait for that one. The loop carries it,
// and its wait does not move. "dp" has only copied operands: it is issued after that wait, and the
// exponentials run while it is outstanding. Of consecutive dots, the next one is issued before the
// wait for the first one. Each iteration has its own stage views.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits,canonicalize,cse)))' | FileCheck %s

// CHECK-LABEL: gpu.func @carried
// CHECK: %[[QP:.*]] = warp.pipeline "q"
// CHECK: %[[DOP:.*]] = warp.pipeline "do"
// CHECK: %[[DSP:.*]] = warp.pipeline "ds"
// CHECK: warp.copy async "q"
// CHECK: warp.consumer_wait %[[QP]]
// CHECK-NOT: %[[DOP]]
// CHECK: %[[S0:.*]] = warp.dot async "s"
// CHECK-NOT: warp.dot_wait
// CHECK: scf.for {{.*}} iter_args({{.*}}%[[S:[a-z0-9]+]] = %[[S0]]{{.*}}!warp.pending<tensor<64x64xf32, #tile.reg>>
// CHECK: warp.copy async "do"
// CHECK: warp.copy async "delta"
// CHECK: %[[W:.*]] = warp.dot_wait %[[S]]
// CHECK: warp.consumer_wait %[[DOP]]
// CHECK: %[[DP:.*]] = warp.dot async "dp"
// CHECK: math.exp2 %[[W]]
// CHECK: warp.dot_wait %[[DP]]
// CHECK: warp.dot "dv"
// CHECK: warp.local_load
// CHECK: warp.local_store "ds"
// CHECK: warp.dot "dk"
// CHECK: %[[DQ0:.*]] = warp.dot async "dq.0"
// CHECK-NEXT: %[[DQ:.*]] = warp.dot async "dq.1"
// CHECK-NEXT: %[[SUM0:.*]] = warp.dot_wait %[[DQ0]]
// CHECK-NEXT: tile.store add "sum.0" %[[SUM0]]
// CHECK: warp.producer_acquire %[[QP]]
// CHECK: warp.copy async "q"
// CHECK: warp.consumer_wait %[[QP]]
// CHECK: %[[NEXT:.*]] = warp.dot async "s"
// CHECK: %[[SUM:.*]] = warp.dot_wait %[[DQ]]
// CHECK: tile.store add "sum.1" %[[SUM]]
// CHECK: scf.yield {{.*}}%[[NEXT]]
// CHECK: warp.dot_wait
// CHECK: math.exp2
// CHECK-NOT: warp.dot async "s"
// CHECK: gpu.return

!memory = memref<?x64xbf16>
!rows = memref<?xf32>
!tile = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!vector = memref<1x64xf32, #warp.shared<row_bytes = 128>>
!vectors = memref<2x1x64xf32, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
!half = tensor<64x64xbf16, #tile.reg>
gpu.module @kernels {
  launch.abi @carried target("sm_90a")
    plan(<#warp.wgmma_unit, tile_n = 64, order = ["s.done", "dp", "dp.done", "ds.done", "dq.0", "dq.1", "dq.0.done", "sum.0", "s" + 1, "dq.1.done", "sum.1"],
          roles = [<"load", warps = 4, registers = 24, owns = ["q", "do", "delta"]>,
                   <"compute", warps = 4, registers = 208, owns = ["s", "dp", "dq", "sum", "ds"]>,
                   <"sums", warps = 4, registers = 160, owns = ["dv", "dk"]>]>)
    tensors([#launch.tensor<"q", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"do", read, tensor<?x64xbf16>, ["S", "D"], 16>,
             #launch.tensor<"delta", read, tensor<?xf32>, ["S"], 16>, #launch.tensor<"sum", accumulate, tensor<?x64xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"q", [0, 1]>, #launch.memref<"do", [0, 1]>, #launch.memref<"delta", [0]>, #launch.memref<"sum", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @carried(%q: !memory, %do: !memory, %delta: !rows, %sum: memref<?x64xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zeros = arith.constant dense<0.0> : !acc
    %k = warp.alloc : !tile
    %qs = warp.alloc : !ring
    %dos = warp.alloc : !ring
    %ds = warp.alloc : !vectors
    %dss = warp.alloc : !ring
    %qp = warp.pipeline "q" : !warp.pipeline<2>
    %dop = warp.pipeline "do" : !warp.pipeline<2>
    %dsp = warp.pipeline "ds" : !warp.pipeline<2>
    %end = arith.maxsi %n, %c1 : index
    %r:4 = scf.for %j = %c0 to %end step %c1
        iter_args(%dv = %zeros, %dk = %zeros, %stage = %zero, %phase = %zero) -> (!acc, !acc, i32, i32) {
      %row = arith.muli %j, %c64 : index
      warp.producer_acquire %qp[%stage, %phase] : !warp.pipeline<2>
      %q0 = warp.stage %qs[%stage] : !ring to !tile
      warp.copy async "q" %q[%row, %c0] dims [0, 1] to %q0 : !memory to !tile
      warp.producer_commit %qp[%stage, %phase] : !warp.pipeline<2>
      warp.producer_acquire %dop[%stage, %phase] : !warp.pipeline<2>
      %do0 = warp.stage %dos[%stage] : !ring to !tile
      warp.copy async "do" %do[%row, %c0] dims [0, 1] to %do0 : !memory to !tile
      %d0 = warp.stage %ds[%stage] : !vectors to !vector
      warp.copy async "delta" %delta[%row] dims [-1, 0] fragments to %d0 : !rows to !vector
      warp.producer_commit %dop[%stage, %phase] : !warp.pipeline<2>
      warp.consumer_wait %qp[%stage, %phase] : !warp.pipeline<2>
      %s = warp.dot "s" %k, %q0, %zeros transpose_b : !tile, !tile, !acc
      %e = math.exp2 %s : !acc
      warp.consumer_wait %dop[%stage, %phase] : !warp.pipeline<2>
      %dp = warp.dot "dp" %k, %do0, %zeros transpose_b : !tile, !tile, !acc
      %dv1 = warp.dot "dv" %k, %do0, %dv : !tile, !tile, !acc
      %d = warp.local_load %d0 : !vector to tensor<1x64xf32, #tile.reg>
      warp.consumer_release %dop[%stage, %phase] : !warp.pipeline<2>
      %db = tile.broadcast %d : tensor<1x64xf32, #tile.reg> to !acc
      %h = arith.subf %dp, %db : !acc
      %g = arith.mulf %e, %h : !acc
      %gh = arith.truncf %g : !acc to !half
      warp.producer_acquire %dsp[%stage, %phase] : !warp.pipeline<2>
      %ds0 = warp.stage %dss[%stage] : !ring to !tile
      warp.local_store "ds" %gh to %ds0 : !half, !tile
      warp.fence_stores %ds0 : !tile
      warp.producer_commit %dsp[%stage, %phase] : !warp.pipeline<2>
      warp.consumer_wait %dsp[%stage, %phase] : !warp.pipeline<2>
      %dk1 = warp.dot "dk" %ds0, %q0, %dk : !tile, !tile, !acc
      warp.consumer_release %qp[%stage, %phase] : !warp.pipeline<2>
      %dq0 = warp.dot "dq.0" %ds0, %k, %zeros transpose_a : !tile, !tile, !acc
      %dq1 = warp.dot "dq.1" %ds0, %k, %zeros transpose_a : !tile, !tile, !acc
      tile.store add "sum.0" %dq0, %sum[%row, %c0] dims [0, 1] : !acc, memref<?x64xf32>
      warp.consumer_release %dsp[%stage, %phase] : !warp.pipeline<2>
      tile.store add "sum.1" %dq1, %sum[%row, %c64] dims [0, 1] : !acc, memref<?x64xf32>
      %next = arith.subi %one, %stage : i32
      %flip = arith.xori %phase, %stage : i32
      scf.yield %dv1, %dk1, %next, %flip : !acc, !acc, i32, i32
    }
    gpu.return
  }
}
