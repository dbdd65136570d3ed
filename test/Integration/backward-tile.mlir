// Attention's backward pass as a tile program with an outer loop over keys: a tile of
// 128 keys iterates over all blocks of 64 queries that see it. Five dots; dV and dK stay
// in registers, dQ is accumulated in memory. dS is a stream: the product for dK reads it
// directly, that for dQ transposed. Its meaning, and the output of the middle end:
// roles on sm_90a (and their PTX), one program on sm_80; full and causal, sizes that divide nothing,
// of two tiles: a sum of three would depend on their order.
// DEFINE: %{inputs} = %t.d/q.npy %t.d/k.npy %t.d/v.npy %t.d/do.npy %t.d/lse.npy %t.d/delta.npy
// DEFINE: %{outputs} = %t.d/dq.npy %t.d/dk.npy %t.d/dv.npy
// DEFINE: %{check} = %python %S/../Dialect/Warp/Transforms/Inputs/backward.py check %t.d
// RUN: sed -e 's/%%causal to %%size/%%c0 to %%size/' -e 's/sle, %%keys, %%queries/sle, %%queries, %%queries/' %s > %t.full.mlir
// RUN: sed -e 's/sm_90a/sm_80/' -e 's/wgmma_unit, tile_m = 128, warps = 8,/mma_sync_unit, tile_m = 128>)/' -e 's/threads(256)/threads(128)/' -e '/^         stores = /,/reduce/d' %s > %t.sm_80.mlir
// RUN: sed -e 's/%%causal to %%size/%%c0 to %%size/' -e 's/sle, %%keys, %%queries/sle, %%queries, %%queries/' %t.sm_80.mlir > %t.full.sm_80.mlir

// RUN: %python %S/../Dialect/Warp/Transforms/Inputs/backward.py inputs %t.d causal 200
// RUN: fovea-run %s --inputs %{inputs} --outputs %{outputs}
// RUN: %{check} causal 200 | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-compile %s --target=sm_90a --emit=warp -o %t.warp.mlir
// RUN: FileCheck %s < %t.warp.mlir
// RUN: fovea-run %t.warp.mlir --inputs %{inputs} --outputs %{outputs} --seeds=20
// RUN: %{check} causal 200 | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-run %s --level=ptx --target=sm_90a --inputs %{inputs} --outputs %{outputs} --seeds=3
// RUN: %{check} causal 200 | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-compile %t.sm_80.mlir --target=sm_80 --emit=warp -o %t.sm_80.warp.mlir
// RUN: fovea-run %t.sm_80.warp.mlir --inputs %{inputs} --outputs %{outputs} --seeds=20
// RUN: %{check} causal 200 | FileCheck %s --check-prefix=NUMBERS

// RUN: %python %S/../Dialect/Warp/Transforms/Inputs/backward.py inputs %t.d full 250
// RUN: fovea-compile %t.full.mlir --target=sm_90a --emit=warp -o %t.full.warp.mlir
// RUN: fovea-run %t.full.warp.mlir --inputs %{inputs} --outputs %{outputs} --seeds=20
// RUN: %{check} full 250 | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-run %t.full.mlir --level=ptx --target=sm_90a --inputs %{inputs} --outputs %{outputs} --seeds=3
// RUN: %{check} full 250 | FileCheck %s --check-prefix=NUMBERS
// RUN: fovea-compile %t.full.sm_80.mlir --target=sm_80 --emit=warp -o %t.full.sm_80.warp.mlir
// RUN: fovea-run %t.full.sm_80.warp.mlir --inputs %{inputs} --outputs %{outputs} --seeds=20
// RUN: %{check} full 250 | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: dq passed
// NUMBERS-NEXT: dk passed
// NUMBERS-NEXT: dv passed

// CHECK-LABEL: gpu.func @backward
// CHECK: role @load warps(4) regs(24)
// CHECK-COUNT-4: warp.copy async
// CHECK-NOT: warp.dot
// CHECK: role @compute warps(8) regs(208)
// CHECK-NOT: warp.copy async
// CHECK: warp.dot "s"
// CHECK: warp.dot "dp"
// CHECK: warp.dot "dv"
// CHECK: warp.local_store "ds" {{.*}} : tensor<128x64xbf16, #warp.wgmma<groups = 2>>
// CHECK: warp.dot "dk"
// CHECK-NOT: warp.dot
// CHECK: role @reduce warps(4) regs(72)
// CHECK: warp.dot "dq" {{.*}} transpose_a {{.*}} tensor<64x64xf32, #warp.wgmma<groups = 1>>
// CHECK: warp.copy_out async add "dq_sum"

!memory = memref<1x1x?x64xbf16, strided<[?, ?, ?, 1]>>
!sums = memref<1x1x?x64xf32, strided<[?, ?, ?, 1]>>
!rows = memref<1x1x?xf32, strided<[?, ?, ?]>>
!key = tensor<128x64xbf16, #tile.reg>
!query = tensor<64x64xbf16, #tile.reg>
!score = tensor<128x64xf32, #tile.reg>
!column = tensor<1x64xf32, #tile.reg>
!sum = tensor<64x64xf32, #tile.reg>

gpu.module @m {
  launch.abi @backward target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
         stores = [<"dq_sum", copied>],
         roles = [<"load", warps = 4, registers = 24, owns = ["k", "v", "q", "do"]>,
           <"compute", warps = 8, registers = 208, owns = ["s", "dp", "ds", "dv", "dk", "dv_out", "dk_out"]>,
           <"reduce", warps = 4, registers = 72, owns = ["dq", "dq_sum"]>]>)
    tensors([#launch.tensor<"q", read, tensor<1x1x?x64xbf16>, ["B", "H", "S", "D"], 16>, #launch.tensor<"k", read, tensor<1x1x?x64xbf16>, ["B", "H", "S", "D"], 16>,
             #launch.tensor<"v", read, tensor<1x1x?x64xbf16>, ["B", "H", "S", "D"], 16>, #launch.tensor<"do", read, tensor<1x1x?x64xbf16>, ["B", "H", "S", "D"], 16>,
             #launch.tensor<"lse", read, tensor<1x1x?xf32>, ["B", "H", "S"], 4>, #launch.tensor<"delta", read, tensor<1x1x?xf32>, ["B", "H", "S"], 4>,
             #launch.tensor<"dq", accumulate, tensor<1x1x?x64xf32>, ["B", "H", "S", "D"], 16>, #launch.tensor<"dk", write, tensor<1x1x?x64xbf16>, ["B", "H", "S", "D"], 16>,
             #launch.tensor<"dv", write, tensor<1x1x?x64xbf16>, ["B", "H", "S", "D"], 16>])
    parameters([#launch.memref<"q", [0, 1, 2, 3]>, #launch.memref<"k", [0, 1, 2, 3]>, #launch.memref<"v", [0, 1, 2, 3]>, #launch.memref<"do", [0, 1, 2, 3]>,
                #launch.memref<"lse", [0, 1, 2]>, #launch.memref<"delta", [0, 1, 2]>,
                #launch.memref<"dq", [0, 1, 2, 3]>, #launch.memref<"dk", [0, 1, 2, 3]>, #launch.memref<"dv", [0, 1, 2, 3]>])
    grid(["S"] affine_map<()[s] -> (s ceildiv 128)>) threads(256) shared_memory(0)
  gpu.func @backward(%q: !memory, %k: !memory, %v: !memory, %do: !memory, %lse: !rows, %delta: !rows, %dq: !sums, %dk: !memory, %dv: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !score
    %zeroSum = arith.constant dense<0.0> : !sum
    %hidden = arith.constant dense<0xFF800000> : !score
    // 1 / 8, times log2(e), and log2(e).
    %scale = arith.constant dense<0.125> : !score
    %scale2 = arith.constant dense<0.18033688> : !score
    %log2e = arith.constant dense<1.44269504> : !column
    %size = memref.dim %q, %c2 : !memory
    %block = gpu.block_id x
    %causal = arith.muli %block, %c128 : index
    %kt = tile.load "k" %k[%c0, %c0, %causal, %c0] dims [2, 3] : !memory to !key
    %vt = tile.load "v" %v[%c0, %c0, %causal, %c0] dims [2, 3] : !memory to !key
    %of:2 = scf.for %i = %causal to %size step %c64 iter_args(%dvAcc = %zero, %dkAcc = %zero) -> (!score, !score) {
      %qt = tile.load "q" %q[%c0, %c0, %i, %c0] dims [2, 3] : !memory to !query
      %s = tile.dot "s" %kt, %qt, %zero transpose_b : !key, !query, !score
      %lseRow = tile.load %lse[%c0, %c0, %i] dims [-1, 2] : !rows to !column
      %lse2 = arith.mulf %lseRow, %log2e : !column
      %lseTile = tile.broadcast %lse2 : !column to !score
      %scaled = arith.mulf %s, %scale2 : !score
      %x = arith.subf %scaled, %lseTile : !score
      %key = tile.iota dim 0 : tensor<128x1xi32, #tile.reg>
      %query = tile.iota dim 1 : tensor<1x64xi32, #tile.reg>
      %j32 = arith.index_cast %causal : index to i32
      %i32 = arith.index_cast %i : index to i32
      %jt = tile.broadcast %j32 : i32 to tensor<128x1xi32, #tile.reg>
      %it = tile.broadcast %i32 : i32 to tensor<1x64xi32, #tile.reg>
      %keyAt = arith.addi %key, %jt : tensor<128x1xi32, #tile.reg>
      %queryAt = arith.addi %query, %it : tensor<1x64xi32, #tile.reg>
      %keys = tile.broadcast %keyAt : tensor<128x1xi32, #tile.reg> to tensor<128x64xi32, #tile.reg>
      %queries = tile.broadcast %queryAt : tensor<1x64xi32, #tile.reg> to tensor<128x64xi32, #tile.reg>
      %seen = arith.cmpi sle, %keys, %queries : tensor<128x64xi32, #tile.reg>
      %masked = arith.select %seen, %x, %hidden : tensor<128x64xi1, #tile.reg>, !score
      %p = math.exp2 %masked : !score
      %p16 = arith.truncf %p : !score to !key
      %dot = tile.load "do" %do[%c0, %c0, %i, %c0] dims [2, 3] : !memory to !query
      %dp = tile.dot "dp" %vt, %dot, %zero transpose_b : !key, !query, !score
      %dvNext = tile.dot "dv" %p16, %dot, %dvAcc : !key, !query, !score
      %deltaRow = tile.load %delta[%c0, %c0, %i] dims [-1, 2] : !rows to !column
      %deltaTile = tile.broadcast %deltaRow : !column to !score
      %off = arith.subf %dp, %deltaTile : !score
      %dsFull = arith.mulf %p, %off : !score
      %dsScaled = arith.mulf %dsFull, %scale : !score
      %ds16 = arith.truncf %dsScaled : !score to !key
      %ds = tile.stream "ds" %ds16 : !key
      %dkNext = tile.dot "dk" %ds, %qt, %dkAcc : !key, !query, !score
      %dqPart = tile.dot "dq" %ds, %kt, %zeroSum transpose_a : !key, !key, !sum
      tile.store add "dq_sum" %dqPart, %dq[%c0, %c0, %i, %c0] dims [2, 3] : !sum, !sums
      scf.yield %dvNext, %dkNext : !score, !score
    }
    %dv16 = arith.truncf %of#0 : !score to !key
    %dk16 = arith.truncf %of#1 : !score to !key
    tile.store "dv_out" %dv16, %dv[%c0, %c0, %causal, %c0] dims [2, 3] : !key, !memory
    tile.store "dk_out" %dk16, %dk[%c0, %c0, %causal, %c0] dims [2, 3] : !key, !memory
    gpu.return
  }
}
