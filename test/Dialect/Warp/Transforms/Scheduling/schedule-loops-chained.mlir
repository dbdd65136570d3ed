// Several late dots: "dk" depends, through a stream, on the result of "dp". Its dependences go
// first; then the next block's S and "dk" are issued, and the next P is computed while "dk" is
// outstanding. The wait for "dv" follows. Dots of other roles, and loads for the late dots only,
// stay in stage 1. One stage view serves both stages: the loop carries the stage index. Tiles that
// another role reads back and adds to memory are in stage 1, too, also in a branch. Loads before
// "dp" stay there, after the copies of its operand and the wait.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits,canonicalize,cse)))' | FileCheck %s
// RUN: sed 's,// READ:,,' %s | fovea-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits,canonicalize,cse)))' | FileCheck %s --check-prefixes=CHECK,BACK
// RUN: sed -e 's,// READ:,,' -e 's,// IF:,,' %s | fovea-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits,canonicalize,cse)))' | FileCheck %s --check-prefix=BRANCH
// RUN: sed -e 's,// AHEAD:,,' -e 's,truncf %g ,truncf %h ,' %s | fovea-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits,canonicalize,cse)))' | FileCheck %s --check-prefix=ROWS

// CHECK-LABEL: gpu.func @chained
// CHECK: %[[K:.*]] = warp.alloc : memref<64x64xbf16
// CHECK: %[[Q:.*]] = warp.alloc : memref<2x64x64xbf16
// CHECK: %[[DO:.*]] = warp.alloc : memref<2x64x64xbf16
// CHECK: %[[D:.*]] = warp.alloc : memref<2x1x64xf32
// CHECK: %[[DS:.*]] = warp.alloc : memref<2x64x64xbf16
// CHECK: %[[QP:.*]] = warp.pipeline "q"
// CHECK: %[[DOP:.*]] = warp.pipeline "do"
// CHECK: %[[DSP:.*]] = warp.pipeline "ds"
// P of the first block.
// CHECK: warp.producer_acquire %[[QP]]
// CHECK-NOT: %[[DOP]]
// CHECK: warp.dot async "s"
// CHECK: %[[P0:.*]] = arith.truncf
// CHECK: scf.for {{.*}} iter_args({{.*}}%[[P:[a-z0-9]+]] = %[[P0]]
// CHECK: warp.producer_acquire %[[DOP]]
// CHECK-NEXT: warp.stage %[[DO]]
// CHECK-NEXT: warp.copy async "do"
// CHECK-NEXT: warp.stage %[[D]]
// CHECK-NEXT: warp.copy async "delta"
// CHECK-NEXT: warp.producer_commit %[[DOP]]
// CHECK-NEXT: warp.consumer_wait %[[DOP]]
// CHECK: %[[DP:.*]] = warp.dot async "dp"
// CHECK: %[[DV:.*]] = warp.dot async "dv" %[[P]]
// CHECK: warp.dot_wait %[[DP]]
// CHECK: warp.local_load
// CHECK: warp.producer_acquire %[[DSP]]
// CHECK: warp.local_store "ds"
// CHECK: warp.producer_commit %[[DSP]]
// CHECK-NEXT: warp.consumer_wait %[[DSP]]
// CHECK: warp.producer_acquire %[[QP]]
// CHECK: %[[S:.*]] = warp.dot async "s"
// CHECK-NOT: warp.dot_wait
// CHECK: %[[DK:.*]] = warp.dot async "dk"
// CHECK: warp.dot_wait %[[S]]
// CHECK: math.exp2
// CHECK: arith.truncf
// CHECK: warp.dot_wait %[[DV]]
// CHECK: warp.consumer_release %[[DOP]]
// CHECK: warp.dot_wait %[[DK]]
// CHECK: warp.consumer_release %[[QP]]
// BACK: warp.local_load {{.*}} to tensor<64x64xbf16, #tile.reg>
// BACK: tile.scatter add "sum"
// CHECK: warp.dot "dq"
// CHECK: warp.consumer_release %[[DSP]]
// CHECK: scf.yield
// The accumulators of the last block.
// CHECK: warp.dot async "dp"
// CHECK: warp.dot async "dv"
// CHECK: warp.dot async "dk"
// CHECK-NOT: warp.dot async "s"
// BACK: tile.scatter add "sum"
// CHECK: gpu.return

// BRANCH-LABEL: gpu.func @chained
// BRANCH: %[[SUMS:.*]] = warp.pipeline "ds"
// BRANCH: scf.for
// BRANCH: warp.consumer_wait %[[SUMS]]
// BRANCH: scf.if
// BRANCH-NEXT: warp.local_load {{.*}} to tensor<64x64xbf16, #tile.reg>
// BRANCH: tile.scatter add "sum"
// BRANCH: warp.dot "dq"
// BRANCH: warp.consumer_release %[[SUMS]]
// BRANCH: scf.yield
// BRANCH: warp.consumer_wait %[[SUMS]]
// BRANCH: tile.scatter add "sum"

// ROWS-LABEL: gpu.func @chained
// ROWS: %[[RP:.*]] = warp.pipeline "rows"
// ROWS: scf.for
// ROWS: warp.producer_acquire %[[RP]]
// ROWS: warp.copy async "rows"
// ROWS: warp.producer_commit %[[RP]]
// ROWS-NEXT: warp.consumer_wait %[[RP]]
// ROWS-NEXT: warp.local_load
// ROWS: warp.dot async "dp"
// ROWS: warp.dot_wait
// ROWS: warp.consumer_release %[[RP]]

!memory = memref<?x64xbf16>
!rows = memref<?xf32>
!tile = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!vector = memref<1x64xf32, #warp.shared<row_bytes = 128>>
!vectors = memref<2x1x64xf32, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #tile.reg>
!half = tensor<64x64xbf16, #tile.reg>
gpu.module @kernels {
  launch.abi @chained target("sm_90a")
    plan(<#warp.wgmma_unit, tile_n = 64, order = ["dp", "dv", "dp.done", "ds", "ds.done", "s" + 1, "dk", "s.done" + 1, "*" + 1, "dv.done", "dk.done"],
          roles = [<"load", warps = 4, registers = 24, owns = ["q", "do", "delta"]>,
                   <"compute", warps = 4, registers = 208, owns = ["s", "dp", "dv", "dk", "ds"]>,
                   <"reduce", warps = 4, registers = 72, owns = ["dq", "sum"]>]>)
    tensors([#launch.tensor<"q", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"do", read, tensor<?x64xbf16>, ["S", "D"], 16>,
             #launch.tensor<"delta", read, tensor<?xf32>, ["S"], 16>, #launch.tensor<"sum", accumulate, tensor<?x64xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"q", [0, 1]>, #launch.memref<"do", [0, 1]>, #launch.memref<"delta", [0]>, #launch.memref<"sum", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @chained(%q: !memory, %do: !memory, %delta: !rows, %sum: memref<?x64xf32>, %n: index) kernel {
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
    // AHEAD:%rs = warp.alloc : !vectors
    // AHEAD:%rp = warp.pipeline "rows" : !warp.pipeline<2>
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
      %p = arith.truncf %e : !acc to !half
      // AHEAD:warp.producer_acquire %rp[%stage, %phase] : !warp.pipeline<2>
      // AHEAD:%r0 = warp.stage %rs[%stage] : !vectors to !vector
      // AHEAD:warp.copy async "rows" %delta[%row] dims [-1, 0] fragments to %r0 : !rows to !vector
      // AHEAD:warp.producer_commit %rp[%stage, %phase] : !warp.pipeline<2>
      // AHEAD:warp.consumer_wait %rp[%stage, %phase] : !warp.pipeline<2>
      // AHEAD:%ahead = warp.local_load %r0 : !vector to tensor<1x64xf32, #tile.reg>
      // AHEAD:warp.consumer_release %rp[%stage, %phase] : !warp.pipeline<2>
      // AHEAD:%aheads = tile.broadcast %ahead : tensor<1x64xf32, #tile.reg> to !acc
      warp.consumer_wait %dop[%stage, %phase] : !warp.pipeline<2>
      %dp = warp.dot "dp" %k, %do0, %zeros transpose_b : !tile, !tile, !acc
      %dv1 = warp.dot "dv" %p, %do0, %dv : !half, !tile, !acc
      %d = warp.local_load %d0 : !vector to tensor<1x64xf32, #tile.reg>
      warp.consumer_release %dop[%stage, %phase] : !warp.pipeline<2>
      %db = tile.broadcast %d : tensor<1x64xf32, #tile.reg> to !acc
      %g = arith.subf %dp, %db : !acc
      // AHEAD:%h = arith.addf %g, %aheads : !acc
      %gh = arith.truncf %g : !acc to !half
      warp.producer_acquire %dsp[%stage, %phase] : !warp.pipeline<2>
      %ds0 = warp.stage %dss[%stage] : !ring to !tile
      warp.local_store "ds" %gh to %ds0 : !half, !tile
      warp.fence_stores %ds0 : !tile
      warp.producer_commit %dsp[%stage, %phase] : !warp.pipeline<2>
      warp.consumer_wait %dsp[%stage, %phase] : !warp.pipeline<2>
      %dk1 = warp.dot "dk" %ds0, %q0, %dk : !tile, !tile, !acc
      warp.consumer_release %qp[%stage, %phase] : !warp.pipeline<2>
      // IF:%later = arith.cmpi sgt, %j, %c0 : index
      // IF:scf.if %later {
      // READ:%back = warp.local_load %ds0 : !tile to !half
      // READ:%wide = arith.extf %back : !half to !acc
      // READ:tile.scatter add "sum" %wide, %sum[%row, %c0] : !acc, memref<?x64xf32>[index, index]
      // IF:}
      %dq = warp.dot "dq" %ds0, %k, %zeros transpose_a : !tile, !tile, !acc
      warp.consumer_release %dsp[%stage, %phase] : !warp.pipeline<2>
      tile.store add "sum" %dq, %sum[%row, %c0] dims [0, 1] : !acc, memref<?x64xf32>
      %next = arith.subi %one, %stage : i32
      %flip = arith.xori %phase, %stage : i32
      scf.yield %dv1, %dk1, %next, %flip : !acc, !acc, i32, i32
    }
    gpu.return
  }
}
