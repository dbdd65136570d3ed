// Attention's backward pass, with the outer loop over keys, as one program in order of use. Each
// tile of 128 keys iterates over the blocks of 64 queries that see it: five dots; the accumulators
// dV and dK stay in registers, and dS goes through shared memory to another role, which adds its dQ
// to memory.
//
//   load     K, V, Q, dO
//   compute  S^T, dP^T, dV += P^T dO, dK += dS^T Q; two warp groups, 64 keys each,
//            which fill the stages of dS together
//   reduce   dQ += dS K
//
// The program as it is, and its roles in any interleaving:
// DEFINE: %{slice} = fovea-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize,warp-verify-pipelines)))'
// DEFINE: %{inputs} = %t.d/q.npy %t.d/k.npy %t.d/v.npy %t.d/do.npy %t.d/lse.npy %t.d/delta.npy
// DEFINE: %{outputs} = %t.d/dq.npy %t.d/dk.npy %t.d/dv.npy
// RUN: %python %S/../Inputs/backward.py inputs %t.d causal
// RUN: fovea-run %s --inputs %{inputs} --outputs %{outputs}
// RUN: %python %S/../Inputs/backward.py check %t.d causal | FileCheck %s --check-prefix=NUMBERS
// RUN: %{slice} %s > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: fovea-run %t.mlir --inputs %{inputs} --outputs %{outputs} --seeds=20
// RUN: %python %S/../Inputs/backward.py check %t.d causal | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: dq passed
// NUMBERS-NEXT: dk passed
// NUMBERS-NEXT: dv passed

// Without a mask, starting at the first query block.
// RUN: sed -e 's/arith.cmpi sle, %%keys, %%queries/arith.cmpi sle, %%queries, %%queries/' -e 's/scf.for %%i = %%j0 to/scf.for %%i = %%c0 to/' %s > %t.full.mlir
// RUN: %{slice} %t.full.mlir > %t.full-roles.mlir
// RUN: %python %S/../Inputs/backward.py inputs %t.d full
// RUN: fovea-run %t.full-roles.mlir --inputs %{inputs} --outputs %{outputs} --seeds=20
// RUN: %python %S/../Inputs/backward.py check %t.d full | FileCheck %s --check-prefix=NUMBERS


// The ops of each role.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-print-roles)))' -o /dev/null | FileCheck %s --check-prefix=ROLES
// ROLES-LABEL: roles of @backward
// ROLES: warp.copy "k": @load
// ROLES: warp.consumer_wait of "k": @compute, @reduce
// ROLES: warp.copy "q": @load
// ROLES: warp.consumer_wait of "q": @compute
// ROLES-NEXT: warp.dot "s": @compute
// ROLES: warp.dot_wait: @compute
// ROLES: warp.producer_acquire of "ds": @compute
// ROLES-NEXT: warp.local_store: @compute
// ROLES-NEXT: warp.fence_stores: @compute
// ROLES-NEXT: warp.producer_commit of "ds": @compute
// ROLES-NEXT: warp.consumer_wait of "ds": @reduce
// ROLES-NEXT: warp.dot "dk": @compute
// ROLES: warp.dot "dq": @reduce
// ROLES: warp.consumer_release of "ds": @reduce
// ROLES: warp.local_store "dq_sum": @reduce
// ROLES-NEXT: warp.fence_stores: @reduce
// ROLES: warp.copy_out "dq_sum": @reduce

#two = #warp.wgmma<groups = 2>
#one = #warp.wgmma<groups = 1>
!memory = memref<1x1x256x64xbf16, strided<[?, ?, ?, 1]>>
!sums = memref<1x1x256x64xf32, strided<[?, ?, ?, 1]>>
!rows = memref<1x1x256xf32, strided<[?, ?, ?]>>
!keyRing = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!keyBuffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!queryRing = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!queryBuffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!scoreRing = memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>
!sumBuffer = memref<64x64xf32, #warp.shared<row_bytes = 128>>
!score = tensor<128x64xf32, #two>
!weight = tensor<128x64xbf16, #two>
!column = tensor<1x64xf32, #two>
!sum = tensor<64x64xf32, #one>
!p1 = !warp.pipeline<1>
!p2 = !warp.pipeline<2>

gpu.module @m {
  launch.abi @backward target("sm_90a")
    plan(<#warp.mma_sync_unit, tile_n = 128, warps = 8,
         roles = [<"load", warps = 4, registers = 24, owns = ["k", "v", "q", "do"]>,
           <"compute", warps = 8, registers = 208, owns = ["s", "dp", "ds", "dv", "dk", "dv_out", "dk_out"]>,
           <"reduce", warps = 4, registers = 72, owns = ["dq", "dq_sum"]>]>)
    tensors([#launch.tensor<"q", read, tensor<1x1x256x64xbf16>, ["B", "H", "Sq", "D"], 16>, #launch.tensor<"k", read, tensor<1x1x256x64xbf16>, ["B", "H", "Skv", "D"], 16>,
             #launch.tensor<"v", read, tensor<1x1x256x64xbf16>, ["B", "H", "Skv", "D"], 16>, #launch.tensor<"do", read, tensor<1x1x256x64xbf16>, ["B", "H", "Sq", "D"], 16>,
             #launch.tensor<"lse", read, tensor<1x1x256xf32>, ["B", "H", "Sq"], 4>, #launch.tensor<"delta", read, tensor<1x1x256xf32>, ["B", "H", "Sq"], 4>,
             #launch.tensor<"dq", write, tensor<1x1x256x64xf32>, ["B", "H", "Sq", "D"], 16>, #launch.tensor<"dk", write, tensor<1x1x256x64xbf16>, ["B", "H", "Skv", "D"], 16>,
             #launch.tensor<"dv", write, tensor<1x1x256x64xbf16>, ["B", "H", "Skv", "D"], 16>])
    parameters([#launch.memref<"q", [0, 1, 2, 3]>, #launch.memref<"k", [0, 1, 2, 3]>, #launch.memref<"v", [0, 1, 2, 3]>, #launch.memref<"do", [0, 1, 2, 3]>,
                #launch.memref<"lse", [0, 1, 2]>, #launch.memref<"delta", [0, 1, 2]>,
                #launch.memref<"dq", [0, 1, 2, 3]>, #launch.memref<"dk", [0, 1, 2, 3]>, #launch.memref<"dv", [0, 1, 2, 3]>])
    grid([] affine_map<() -> (1)>) threads(512) shared_memory(0)
  // CHECK-LABEL: gpu.func @backward
  // CHECK: role @load warps(4) regs(24)
  // CHECK-NOT: warp.dot
  // CHECK: role @compute warps(8) regs(208)
  // CHECK-NOT: warp.copy
  // CHECK-COUNT-4: warp.consumer_wait
  // CHECK-NOT: warp.consumer_wait
  // CHECK: role @reduce warps(4) regs(72)
  // CHECK-NOT: warp.producer_acquire
  // CHECK: warp.dot async "dq" {{.*}} transpose_a
  gpu.func @backward(%q: !memory, %k: !memory, %v: !memory, %do: !memory, %lse: !rows, %delta: !rows, %dq: !sums, %dk: !memory, %dv: !memory) kernel {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : !score
    %zeroSum = arith.constant dense<0.0> : !sum
    %hidden = arith.constant dense<0xFF800000> : !score
    // 1 / 8, times log2(e), and log2(e).
    %scale = arith.constant dense<0.125> : !score
    %scale2 = arith.constant dense<0.18033688> : !score
    %log2e = arith.constant dense<1.44269504> : !column
    %ks = warp.alloc : !keyRing
    %vs = warp.alloc : !keyRing
    %qs = warp.alloc : !queryRing
    %dos = warp.alloc : !queryRing
    %dss = warp.alloc : !scoreRing
    %dqs = warp.alloc : !sumBuffer
    %pk = warp.pipeline "k" : !p1
    %pv = warp.pipeline "v" : !p1
    %pq = warp.pipeline "q" : !p2
    %pdo = warp.pipeline "do" : !p2
    %pds = warp.pipeline "ds" : !p2
    %kb = warp.stage %ks[%z] : !keyRing to !keyBuffer
    %vb = warp.stage %vs[%z] : !keyRing to !keyBuffer
    %end:2 = scf.for %j0 = %c0 to %c256 step %c128 iter_args(%tile = %z, %count = %z) -> (i32, i32) {
      %tilePhase = arith.andi %tile, %one : i32
      %tileNext = arith.addi %tile, %one : i32
      warp.producer_acquire %pk[%z, %tilePhase] : !p1
      warp.copy async "k" %k[%c0, %c0, %j0, %c0] dims [2, 3] to %kb : !memory to !keyBuffer
      warp.producer_commit %pk[%z, %tilePhase] : !p1
      warp.consumer_wait %pk[%z, %tilePhase] : !p1
      warp.producer_acquire %pv[%z, %tilePhase] : !p1
      warp.copy async "v" %v[%c0, %c0, %j0, %c0] dims [2, 3] to %vb : !memory to !keyBuffer
      warp.producer_commit %pv[%z, %tilePhase] : !p1
      warp.consumer_wait %pv[%z, %tilePhase] : !p1
      %isFirst = arith.cmpi eq, %j0, %c0 : index
      %of:3 = scf.for %i = %j0 to %c256 step %c64 iter_args(%n = %count, %dvAcc = %zero, %dkAcc = %zero) -> (i32, !score, !score) {
        %stage = arith.andi %n, %one : i32
        %round = arith.shrui %n, %one : i32
        %phase = arith.andi %round, %one : i32
        %next = arith.addi %n, %one : i32
        // S and P.
        warp.producer_acquire %pq[%stage, %phase] : !p2
        %qb = warp.stage %qs[%stage] : !queryRing to !queryBuffer
        warp.copy async "q" %q[%c0, %c0, %i, %c0] dims [2, 3] to %qb : !memory to !queryBuffer
        warp.producer_commit %pq[%stage, %phase] : !p2
        warp.consumer_wait %pq[%stage, %phase] : !p2
        %sf = warp.dot async "s" %kb, %qb, %zero transpose_b : !keyBuffer, !queryBuffer, !score
        %lseRow = tile.load %lse[%c0, %c0, %i] dims [-1, 2] : !rows to !column
        %lse2 = arith.mulf %lseRow, %log2e : !column
        %lseTile = tile.broadcast %lse2 : !column to !score
        %s = warp.dot_wait %sf : !warp.pending<!score>
        %scaled = arith.mulf %s, %scale2 : !score
        %x = arith.subf %scaled, %lseTile : !score
        %key = tile.iota dim 0 : tensor<128x1xi32, #two>
        %query = tile.iota dim 1 : tensor<1x64xi32, #two>
        %j32 = arith.index_cast %j0 : index to i32
        %i32 = arith.index_cast %i : index to i32
        %jt = tile.broadcast %j32 : i32 to tensor<128x1xi32, #two>
        %it = tile.broadcast %i32 : i32 to tensor<1x64xi32, #two>
        %keyAt = arith.addi %key, %jt : tensor<128x1xi32, #two>
        %queryAt = arith.addi %query, %it : tensor<1x64xi32, #two>
        %keys = tile.broadcast %keyAt : tensor<128x1xi32, #two> to tensor<128x64xi32, #two>
        %queries = tile.broadcast %queryAt : tensor<1x64xi32, #two> to tensor<128x64xi32, #two>
        %seen = arith.cmpi sle, %keys, %queries : tensor<128x64xi32, #two>
        %masked = arith.select %seen, %x, %hidden : tensor<128x64xi1, #two>, !score
        %p = math.exp2 %masked : !score
        %p16 = arith.truncf %p : !score to !weight
        // dP overlaps dV.
        warp.producer_acquire %pdo[%stage, %phase] : !p2
        %dob = warp.stage %dos[%stage] : !queryRing to !queryBuffer
        warp.copy async "do" %do[%c0, %c0, %i, %c0] dims [2, 3] to %dob : !memory to !queryBuffer
        warp.producer_commit %pdo[%stage, %phase] : !p2
        warp.consumer_wait %pdo[%stage, %phase] : !p2
        %dpf = warp.dot async "dp" %vb, %dob, %zero transpose_b : !keyBuffer, !queryBuffer, !score
        %dvf = warp.dot async "dv" %p16, %dob, %dvAcc : !weight, !queryBuffer, !score
        %dp = warp.dot_wait %dpf : !warp.pending<!score>
        %deltaRow = tile.load %delta[%c0, %c0, %i] dims [-1, 2] : !rows to !column
        %deltaTile = tile.broadcast %deltaRow : !column to !score
        %off = arith.subf %dp, %deltaTile : !score
        %dsFull = arith.mulf %p, %off : !score
        %dsScaled = arith.mulf %dsFull, %scale : !score
        %ds16 = arith.truncf %dsScaled : !score to !weight
        %dvNext = warp.dot_wait %dvf : !warp.pending<!score>
        warp.consumer_release %pdo[%stage, %phase] : !p2
        // dS: each warp group computes 64 rows.
        warp.producer_acquire %pds[%stage, %phase] : !p2
        %dsb = warp.stage %dss[%stage] : !scoreRing to !keyBuffer
        warp.local_store %ds16 to %dsb : !weight, !keyBuffer
        warp.fence_stores %dsb : !keyBuffer
        warp.producer_commit %pds[%stage, %phase] : !p2
        warp.consumer_wait %pds[%stage, %phase] : !p2
        // dK reads back the rows of its own warp group, dQ reads all rows.
        %dkf = warp.dot async "dk" %dsb, %qb, %dkAcc : !keyBuffer, !queryBuffer, !score
        %dkNext = warp.dot_wait %dkf : !warp.pending<!score>
        %dqf = warp.dot async "dq" %dsb, %kb, %zeroSum transpose_a : !keyBuffer, !keyBuffer, !sum
        %dqPart = warp.dot_wait %dqf : !warp.pending<!sum>
        warp.consumer_release %pq[%stage, %phase] : !p2
        warp.consumer_release %pds[%stage, %phase] : !p2
        warp.copy_out_wait %dqs : !sumBuffer
        warp.local_store "dq_sum" %dqPart to %dqs : !sum, !sumBuffer
        warp.fence_stores %dqs : !sumBuffer
        scf.if %isFirst {
          warp.copy_out async "dq_sum" %dqs to %dq[%c0, %c0, %i, %c0] dims [2, 3] : !sumBuffer to !sums
        } else {
          warp.copy_out async add "dq_sum" %dqs to %dq[%c0, %c0, %i, %c0] dims [2, 3] : !sumBuffer to !sums
        }
        scf.yield %next, %dvNext, %dkNext : i32, !score, !score
      }
      // The next tile adds to the dQ of this one.
      warp.copy_out_wait written %dqs : !sumBuffer
      warp.consumer_release %pk[%z, %tilePhase] : !p1
      warp.consumer_release %pv[%z, %tilePhase] : !p1
      %dv16 = arith.truncf %of#1 : !score to !weight
      %dk16 = arith.truncf %of#2 : !score to !weight
      tile.store "dv_out" %dv16, %dv[%c0, %c0, %j0, %c0] dims [2, 3] : !weight, !memory
      tile.store "dk_out" %dk16, %dk[%c0, %c0, %j0, %c0] dims [2, 3] : !weight, !memory
      scf.yield %tileNext, %of#0 : i32, i32
    }
    gpu.return
  }
}
