// The forward pass of FlashAttention 4 as one program in order of use, which `warp-specialize`
// partitions into six roles. test/Dialect/Warp/IR has the same roles written by hand.
//
// RUN: fovea-run %s --reference=%S/../../IR/Inputs/flash-attention-4.mlir --random=1 --check | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize,warp-sync-lanes,warp-verify-pipelines)))' > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: fovea-run %t.mlir --reference=%S/../../IR/Inputs/flash-attention-4.mlir --random=1 --check --seeds=20 | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: o 1x1x512x64: {{.*}}: passed

!global = memref<1x1x512x64xbf16>
!keys = memref<1x1x384x64xbf16>
!pair = memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<3x128x64xbf16, #warp.shared<row_bytes = 128>>
!shared = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!scores = memref<128x128xf32, #warp.tmem>
!weights = memref<128x128xbf16, #warp.tmem>
!out = memref<128x64xf32, #warp.tmem>
!row = memref<128x1xf32, #warp.tmem>
!one = !warp.pipeline<1>
!two = !warp.pipeline<2>
!three = !warp.pipeline<3>
!scoreTile = tensor<128x128xf32, #tile.reg>
!weightTile = tensor<128x128xbf16, #tile.reg>
!outTile = tensor<128x64xf32, #tile.reg>
!rowTile = tensor<128x1xf32, #tile.reg>
!narrow = tensor<128x64xbf16, #tile.reg>

gpu.module @m {
  launch.abi @forward target("sm_90a")
    plan(<#warp.mma_sync_unit, tile_m = 256, tile_n = 128, warps = 16, stages = 3,
         roles = [<"softmax0", warps = 4, registers = 192, owns = ["a0", "p0"]>,
         <"softmax1", warps = 4, registers = 192, owns = ["a1", "p1"]>,
         <"correction", warps = 4, registers = 80, owns = ["rescale0", "rescale1", "e"]>,
         <"mma", warps = 1, registers = 48, owns = ["s0", "s1", "o0", "o1"]>,
         <"load", warps = 1, registers = 48, owns = ["q", "kv"]>,
         <"epilogue", warps = 2, registers = 48, owns = ["out"]>]>)
    tensors([#launch.tensor<"q", read, tensor<1x1x512x64xbf16>, ["B", "Hq", "Sq", "D"], 16>, #launch.tensor<"k", read, tensor<1x1x384x64xbf16>, ["B", "Hkv", "Skv", "D"], 16>,
           #launch.tensor<"v", read, tensor<1x1x384x64xbf16>, ["B", "Hkv", "Skv", "Dv"], 16>, #launch.tensor<"o", write, tensor<1x1x512x64xbf16>, ["B", "Hq", "Sq", "Dv"], 16>])
    parameters([#launch.memref<"q", [0, 1, 2, 3]>, #launch.memref<"k", [0, 1, 2, 3]>, #launch.memref<"v", [0, 1, 2, 3]>, #launch.memref<"o", [0, 1, 2, 3]>])
    grid([] affine_map<() -> (2)>) threads(512) shared_memory(0)
  // CHECK-LABEL: gpu.func @forward
  // CHECK: role @softmax0 warps(4) regs(192)
  // CHECK-NOT: warp.copy
  // CHECK-NOT: warp.dot_into
  // CHECK: scf.for {{.*}} -> (tensor<128x1xf32, #tile.reg>, tensor<128x1xf32, #tile.reg>)
  // CHECK-COUNT-1: math.exp2 {{.*}} : tensor<128x128xf32, #tile.reg>
  // CHECK-NOT: math.exp2 {{.*}} : tensor<128x128xf32, #tile.reg>
  // CHECK: role @softmax1 warps(4) regs(192)
  // CHECK: role @correction warps(4) regs(80)
  // CHECK-NOT: math.exp2
  // CHECK: warp.tmem_store "rescale0"
  // CHECK: warp.tmem_store "rescale1"
  // CHECK: role @mma warps(1) regs(48)
  // CHECK-NOT: tensor<
  // CHECK: warp.dot_into "s0"
  // CHECK: warp.dot_into "s1"
  // CHECK: scf.for
  // CHECK: warp.dot_into "o0"
  // CHECK: scf.if
  // CHECK: warp.dot_into "s0"
  // CHECK: warp.dot_into "o1"
  // CHECK: scf.if
  // CHECK: warp.dot_into "s1"
  // CHECK: role @load warps(1) regs(48)
  // CHECK-NOT: warp.consumer_wait
  // CHECK: role @epilogue warps(2) regs(48)
  // CHECK-NOT: scf.for
  // CHECK-COUNT-2: warp.copy_out "out"
  // CHECK-NOT: warp.copy_out
  gpu.func @forward(%q: !global, %k: !keys, %v: !keys, %o: !global) kernel {
    %z = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 2 : i32
    %b3 = arith.constant 3 : i32
    %false = arith.constant false
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0.0> : !rowTile
    %least = arith.constant dense<0xFF800000> : !rowTile
    // log2(e) / sqrt(64)
    %scale = arith.constant dense<0.18033688> : !scoreTile
    %rowScale = arith.constant dense<0.18033688> : !rowTile
    %qs = warp.alloc : !pair
    %kvs = warp.alloc : !ring
    %es = warp.alloc : !pair
    %s0 = warp.tmem_alloc column(0) : !scores
    %s1 = warp.tmem_alloc column(128) : !scores
    %o0 = warp.tmem_alloc column(256) : !out
    %o1 = warp.tmem_alloc column(320) : !out
    %a0 = warp.tmem_alloc column(384) : !row
    %a1 = warp.tmem_alloc column(385) : !row
    %pq = warp.pipeline "q" : !two
    %pkv = warp.pipeline "kv" : !three
    %ps0 = warp.pipeline "s0" : !one
    %ps1 = warp.pipeline "s1" : !one
    %pp0 = warp.pipeline "p0" : !one
    %pp1 = warp.pipeline "p1" : !one
    %pa0 = warp.pipeline "a0" : !one
    %pa1 = warp.pipeline "a1" : !one
    %po0 = warp.pipeline "o0" : !one
    %po1 = warp.pipeline "o1" : !one
    %pe = warp.pipeline "e" : !two
    %block = gpu.block_id x
    %row0 = arith.muli %block, %c256 : index
    %row1 = arith.addi %row0, %c128 : index
    %q0 = warp.stage %qs[%z] : !pair to !shared
    %q1 = warp.stage %qs[%b1] : !pair to !shared
    %p0 = warp.tmem_view %s0 from 64 : !scores to !weights
    %p1 = warp.tmem_view %s1 from 64 : !scores to !weights
    %k0 = warp.stage %kvs[%z] : !ring to !shared
    // The first S of both tiles.
    warp.producer_acquire %pq[%z, %z] : !two
    warp.copy async "q" %q[%c0, %c0, %row0, %c0] dims [2, 3] to %q0 : !global to !shared
    warp.producer_commit %pq[%z, %z] : !two
    warp.producer_acquire %pkv[%z, %z] : !three
    warp.copy async "kv" %k[%c0, %c0, %c0, %c0] dims [2, 3] to %k0 : !keys to !shared
    warp.producer_commit %pkv[%z, %z] : !three
    warp.consumer_wait %pkv[%z, %z] : !three
    warp.consumer_wait %pq[%z, %z] : !two
    warp.producer_acquire %ps0[%z, %z] : !one
    warp.dot_into "s0" %q0, %k0, %s0 accumulate(%false) transpose_b : !shared, !shared, !scores
    warp.commit_after_dots %ps0[%z, %z] : !one
    warp.producer_acquire %pq[%b1, %z] : !two
    warp.copy async "q" %q[%c0, %c0, %row1, %c0] dims [2, 3] to %q1 : !global to !shared
    warp.producer_commit %pq[%b1, %z] : !two
    warp.consumer_wait %pq[%b1, %z] : !two
    warp.producer_acquire %ps1[%z, %z] : !one
    warp.dot_into "s1" %q1, %k0, %s1 accumulate(%false) transpose_b : !shared, !shared, !scores
    warp.commit_after_dots %ps1[%z, %z] : !one
    warp.release_after_dots %pkv[%z, %z] : !three
    %end:4 = scf.for %j = %z to %b3 step %b1 iter_args(%m0 = %least, %l0 = %none, %m1 = %least, %l1 = %none) -> (!rowTile, !rowTile, !rowTile, !rowTile) : i32 {
      %phase = arith.andi %j, %b1 : i32
      %last = arith.xori %phase, %b1 : i32
      %j1 = arith.addi %j, %b1 : i32
      %nextPhase = arith.andi %j1, %b1 : i32
      %rescales = arith.cmpi sgt, %j, %z : i32
      %more = arith.cmpi slt, %j1, %b3 : i32
      // The ring holds K0, V0, K1, V1 ...
      %twice = arith.muli %j, %b2 : i32
      %vn = arith.addi %twice, %b1 : i32
      %vStage = arith.remui %vn, %b3 : i32
      %vRound = arith.divui %vn, %b3 : i32
      %vPhase = arith.andi %vRound, %b1 : i32
      %kn = arith.addi %twice, %b2 : i32
      %kStage = arith.remui %kn, %b3 : i32
      %kRound = arith.divui %kn, %b3 : i32
      %kPhase = arith.andi %kRound, %b1 : i32
      %jIndex = arith.index_cast %j : i32 to index
      %vRow = arith.muli %jIndex, %c128 : index
      %kRow = arith.addi %vRow, %c128 : index
      %vt = warp.stage %kvs[%vStage] : !ring to !shared
      %kt = warp.stage %kvs[%kStage] : !ring to !shared
      // Softmax of tile 0.
      warp.consumer_wait %ps0[%z, %phase] : !one
      %x0 = warp.tmem_load %s0 : !scores to !scoreTile
      %largest0 = tile.reduce max dim 1 %x0 : !scoreTile to !rowTile
      %next0 = arith.maximumf %m0, %largest0 : !rowTile
      %grown0 = arith.subf %m0, %next0 : !rowTile
      %grownScaled0 = arith.mulf %grown0, %rowScale : !rowTile
      %factor0 = math.exp2 %grownScaled0 : !rowTile
      warp.producer_acquire %pa0[%z, %phase] : !one
      warp.tmem_store %factor0 to %a0 : !rowTile, !row
      warp.producer_commit %pa0[%z, %phase] : !one
      %mb0 = tile.broadcast %next0 : !rowTile to !scoreTile
      %below0 = arith.subf %x0, %mb0 : !scoreTile
      %scaled0 = arith.mulf %below0, %scale : !scoreTile
      %e0 = math.exp2 %scaled0 : !scoreTile
      %rounded0 = arith.truncf %e0 : !scoreTile to !weightTile
      warp.producer_acquire %pp0[%z, %phase] : !one
      warp.tmem_store %rounded0 to %p0 : !weightTile, !weights
      warp.producer_commit %pp0[%z, %phase] : !one
      warp.consumer_release %ps0[%z, %phase] : !one
      %sum0 = tile.reduce add dim 1 %e0 : !scoreTile to !rowTile
      %kept0 = arith.mulf %l0, %factor0 : !rowTile
      %total0 = arith.addf %kept0, %sum0 : !rowTile
      // Rescale its accumulator in place.
      warp.consumer_wait %pa0[%z, %phase] : !one
      %by0 = warp.tmem_load %a0 : !row to !rowTile
      warp.consumer_release %pa0[%z, %phase] : !one
      scf.if %rescales {
        warp.consumer_wait %po0[%z, %last] : !one
        %old = warp.tmem_load %o0 : !out to !outTile
        %fb = tile.broadcast %by0 : !rowTile to !outTile
        %new = arith.mulf %old, %fb : !outTile
        warp.tmem_store "rescale0" %new to %o0 : !outTile, !out
        warp.consumer_release %po0[%z, %last] : !one
      }
      warp.producer_acquire %pkv[%vStage, %vPhase] : !three
      warp.copy async "kv" %v[%c0, %c0, %vRow, %c0] dims [2, 3] to %vt : !keys to !shared
      warp.producer_commit %pkv[%vStage, %vPhase] : !three
      warp.consumer_wait %pkv[%vStage, %vPhase] : !three
      warp.consumer_wait %pp0[%z, %phase] : !one
      warp.producer_acquire %po0[%z, %phase] : !one
      warp.dot_into "o0" %p0, %vt, %o0 accumulate(%rescales) : !weights, !shared, !out
      warp.release_after_dots %pp0[%z, %phase] : !one
      warp.commit_after_dots %po0[%z, %phase] : !one
      scf.if %more {
        warp.producer_acquire %pkv[%kStage, %kPhase] : !three
        warp.copy async "kv" %k[%c0, %c0, %kRow, %c0] dims [2, 3] to %kt : !keys to !shared
        warp.producer_commit %pkv[%kStage, %kPhase] : !three
        warp.consumer_wait %pkv[%kStage, %kPhase] : !three
        warp.producer_acquire %ps0[%z, %nextPhase] : !one
        warp.dot_into "s0" %q0, %kt, %s0 accumulate(%false) transpose_b : !shared, !shared, !scores
        warp.commit_after_dots %ps0[%z, %nextPhase] : !one
      }
      // Softmax of tile 1.
      warp.consumer_wait %ps1[%z, %phase] : !one
      %x1 = warp.tmem_load %s1 : !scores to !scoreTile
      %largest1 = tile.reduce max dim 1 %x1 : !scoreTile to !rowTile
      %next1 = arith.maximumf %m1, %largest1 : !rowTile
      %grown1 = arith.subf %m1, %next1 : !rowTile
      %grownScaled1 = arith.mulf %grown1, %rowScale : !rowTile
      %factor1 = math.exp2 %grownScaled1 : !rowTile
      warp.producer_acquire %pa1[%z, %phase] : !one
      warp.tmem_store %factor1 to %a1 : !rowTile, !row
      warp.producer_commit %pa1[%z, %phase] : !one
      %mb1 = tile.broadcast %next1 : !rowTile to !scoreTile
      %below1 = arith.subf %x1, %mb1 : !scoreTile
      %scaled1 = arith.mulf %below1, %scale : !scoreTile
      %e1 = math.exp2 %scaled1 : !scoreTile
      %rounded1 = arith.truncf %e1 : !scoreTile to !weightTile
      warp.producer_acquire %pp1[%z, %phase] : !one
      warp.tmem_store %rounded1 to %p1 : !weightTile, !weights
      warp.producer_commit %pp1[%z, %phase] : !one
      warp.consumer_release %ps1[%z, %phase] : !one
      %sum1 = tile.reduce add dim 1 %e1 : !scoreTile to !rowTile
      %kept1 = arith.mulf %l1, %factor1 : !rowTile
      %total1 = arith.addf %kept1, %sum1 : !rowTile
      // Rescale its accumulator in place.
      warp.consumer_wait %pa1[%z, %phase] : !one
      %by1 = warp.tmem_load %a1 : !row to !rowTile
      warp.consumer_release %pa1[%z, %phase] : !one
      scf.if %rescales {
        warp.consumer_wait %po1[%z, %last] : !one
        %old = warp.tmem_load %o1 : !out to !outTile
        %fb = tile.broadcast %by1 : !rowTile to !outTile
        %new = arith.mulf %old, %fb : !outTile
        warp.tmem_store "rescale1" %new to %o1 : !outTile, !out
        warp.consumer_release %po1[%z, %last] : !one
      }
      warp.consumer_wait %pp1[%z, %phase] : !one
      warp.producer_acquire %po1[%z, %phase] : !one
      warp.dot_into "o1" %p1, %vt, %o1 accumulate(%rescales) : !weights, !shared, !out
      warp.release_after_dots %pp1[%z, %phase] : !one
      warp.commit_after_dots %po1[%z, %phase] : !one
      warp.release_after_dots %pkv[%vStage, %vPhase] : !three
      scf.if %more {
        warp.producer_acquire %ps1[%z, %nextPhase] : !one
        warp.dot_into "s1" %q1, %kt, %s1 accumulate(%false) transpose_b : !shared, !shared, !scores
        warp.commit_after_dots %ps1[%z, %nextPhase] : !one
        warp.release_after_dots %pkv[%kStage, %kPhase] : !three
      }
      scf.yield %next0, %total0, %next1, %total1 : !rowTile, !rowTile, !rowTile, !rowTile
    }
    // The output of tile 0.
    warp.producer_acquire %pa0[%z, %b1] : !one
    warp.tmem_store %end#1 to %a0 : !rowTile, !row
    warp.producer_commit %pa0[%z, %b1] : !one
    warp.consumer_wait %pa0[%z, %b1] : !one
    %rowSum0 = warp.tmem_load %a0 : !row to !rowTile
    warp.consumer_release %pa0[%z, %b1] : !one
    warp.consumer_wait %po0[%z, %z] : !one
    %whole0 = warp.tmem_load %o0 : !out to !outTile
    warp.consumer_release %po0[%z, %z] : !one
    %sb0 = tile.broadcast %rowSum0 : !rowTile to !outTile
    %result0 = arith.divf %whole0, %sb0 : !outTile
    %narrow0 = arith.truncf %result0 : !outTile to !narrow
    warp.producer_acquire %pe[%z, %z] : !two
    %eb0 = warp.stage %es[%z] : !pair to !shared
    warp.local_store %narrow0 to %eb0 : !narrow, !shared
    warp.producer_commit %pe[%z, %z] : !two
    warp.consumer_wait %pe[%z, %z] : !two
    warp.copy_out "out" %eb0 to %o[%c0, %c0, %row0, %c0] dims [2, 3] : !shared to !global
    warp.consumer_release %pe[%z, %z] : !two
    // The output of tile 1.
    warp.producer_acquire %pa1[%z, %b1] : !one
    warp.tmem_store %end#3 to %a1 : !rowTile, !row
    warp.producer_commit %pa1[%z, %b1] : !one
    warp.consumer_wait %pa1[%z, %b1] : !one
    %rowSum1 = warp.tmem_load %a1 : !row to !rowTile
    warp.consumer_release %pa1[%z, %b1] : !one
    warp.consumer_wait %po1[%z, %z] : !one
    %whole1 = warp.tmem_load %o1 : !out to !outTile
    warp.consumer_release %po1[%z, %z] : !one
    %sb1 = tile.broadcast %rowSum1 : !rowTile to !outTile
    %result1 = arith.divf %whole1, %sb1 : !outTile
    %narrow1 = arith.truncf %result1 : !outTile to !narrow
    warp.producer_acquire %pe[%b1, %z] : !two
    %eb1 = warp.stage %es[%b1] : !pair to !shared
    warp.local_store %narrow1 to %eb1 : !narrow, !shared
    warp.producer_commit %pe[%b1, %z] : !two
    warp.consumer_wait %pe[%b1, %z] : !two
    warp.copy_out "out" %eb1 to %o[%c0, %c0, %row1, %c0] dims [2, 3] : !shared to !global
    warp.consumer_release %pe[%b1, %z] : !two
    gpu.return
  }
}
