// Two warp groups fill a stage together, 64 rows each, twice in a ring of one
// stage. Each multiplies the rows that it filled without waiting for the other
// group; another role waits for all rows.
// DEFINE: %{check} = fovea-opt %t.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))' -o /dev/null
// DEFINE: %{run} = fovea-run %t.mlir --inputs %t.x.npy --outputs %t.own.npy %t.all.npy --seeds=20
// RUN: %python %S/../Inputs/npy.py write %t.x.npy bf16 "np.arange(2 * 128 * 64).reshape(2, 128, 64) %% 5 - 2"
// RUN: cp %s %t.mlir
// RUN: %{check}
// RUN: %{run}
// RUN: %python %S/../Inputs/npy.py print %t.own.npy %t.all.npy | FileCheck %s
// Row sums.
// CHECK: shape 2 128 16
// CHECK-NEXT: {{^}}-2 -2 -2
// CHECK-NEXT: {{^}}-1 -1 -1
// CHECK: shape 2 128 16
// CHECK-NEXT: {{^}}-2 -2 -2
// CHECK-NEXT: {{^}}-1 -1 -1

// A second operand is the whole stage, not the warp group's rows.
// RUN: sed 's,^  *// ALL ,,' %s > %t.mlir
// RUN: not %{check} 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=ALL-EXECUTED
// ALL: error: role 'fill' reads a buffer and never waits for the pipeline that fills it
// ALL-EXECUTED: error: reads stage 0 of a pipeline without having waited for it

// A warp group may read back its rows only after its commit.
// RUN: sed 's/^  *warp.producer_commit.*EARLY//; s,^  *// LATE ,,' %s > %t.mlir
// RUN: not %{check} 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: reads stage 0 of a pipeline without having waited for it

// The other role waits for both groups.
// RUN: sed '/warp.consumer_wait/d; /warp.consumer_release/d' %s > %t.mlir
// RUN: not %{check} 2>&1 | FileCheck %s --check-prefix=NOBODY
// NOBODY: error: role 'read' reads a buffer and never waits for the pipeline that fills it
// RUN: not %{run}

#two = #warp.wgmma<groups = 2>
!x = memref<2x128x64xbf16>
!o = memref<2x128x16xf32>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!stage = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ones = memref<64x16xbf16, #warp.shared<row_bytes = 32>>
!tile = tensor<128x64xbf16, #two>
!sums = tensor<128x16xf32, #two>
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<2x128x64xbf16>, ["N", "R", "C"], 16>, #launch.tensor<"own", write, tensor<2x128x16xf32>, ["N", "R", "S"], 16>,
             #launch.tensor<"all", write, tensor<2x128x16xf32>, ["N", "R", "S"], 16>])
    parameters([#launch.memref<"x", [0, 1, 2]>, #launch.memref<"own", [0, 1, 2]>, #launch.memref<"all", [0, 1, 2]>])
    grid([] affine_map<() -> (1)>) threads(512) shared_memory(0)
  gpu.func @f(%x: !x, %own: !o, %all: !o) kernel {
    %ring = warp.alloc : !ring
    %ones = warp.ones : !ones
    %p = warp.pipeline : !p
    warp.specialize captures(%x, %own, %all, %ring, %ones, %p : !x, !o, !o, !ring, !ones, !p)
      role @fill warps(8) regs(120) {
      ^bb0(%x0: !x, %own0: !o, %all0: !o, %ring0: !ring, %ones0: !ones, %p0: !p):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %z0 = arith.constant 0 : i32
        %zero = arith.constant dense<0.0> : !sums
        %wide = arith.constant dense<0.0> : tensor<128x128xf32, #two>
        %sb0 = warp.stage %ring0[%z0] : !ring to !stage
        scf.for %n = %c0 to %c2 step %c1 {
          %phase0 = arith.index_cast %n : index to i32
          %t = tile.load %x0[%n, %c0, %c0] dims [1, 2] : !x to !tile
          warp.producer_acquire %p0[%z0, %phase0] : !p
          warp.local_store %t to %sb0 : !tile, !stage
          warp.fence_stores %sb0 : !stage
          warp.producer_commit %p0[%z0, %phase0] : !p // EARLY
          %s = warp.dot %sb0, %ones0, %zero : !stage, !ones, !sums
          // ALL %w = warp.dot %sb0, %sb0, %wide transpose_b : !stage, !stage, tensor<128x128xf32, #two>
          // LATE warp.producer_commit %p0[%z0, %phase0] : !p
          tile.store %s, %own0[%n, %c0, %c0] dims [1, 2] : !sums, !o
        }
        warp.return
      }
      role @read warps(8) regs(120) {
      ^bb0(%x1: !x, %own1: !o, %all1: !o, %ring1: !ring, %ones1: !ones, %p1: !p):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %z1 = arith.constant 0 : i32
        %zero = arith.constant dense<0.0> : !sums
        %sb1 = warp.stage %ring1[%z1] : !ring to !stage
        scf.for %n = %c0 to %c2 step %c1 {
          %phase1 = arith.index_cast %n : index to i32
          warp.consumer_wait %p1[%z1, %phase1] : !p
          %s = warp.dot %sb1, %ones1, %zero : !stage, !ones, !sums
          warp.consumer_release %p1[%z1, %phase1] : !p
          tile.store %s, %all1[%n, %c0, %c0] dims [1, 2] : !sums, !o
        }
        warp.return
      }
    gpu.return
  }
}
