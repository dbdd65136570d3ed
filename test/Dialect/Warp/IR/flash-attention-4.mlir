// The forward pass of FlashAttention-4, written by hand. A CTA has two tiles of
// 128 queries with a softmax role each, so that one tile's exponentials overlap
// the other tile's dots. Scores, outputs and the factors that rescale them are in
// tensor memory; P overlays the upper half of its scores.
//
// Data flow between roles (pipeline names in parentheses):
//   load        Q (pq), then K and V in one ring (pkv)
//   mma         S_i = Q_i K^T (ps_i);  O_i += P_i V (po_i)
//   softmax_i   S_i -> factor of O_i (pa_i), P_i (pp_i); the sums at the end (pa_i)
//   correction  O_i *= factor, in place, and back to mma by releasing it; O_i / sum (pe)
//   epilogue    writes O
//
// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-run %s --reference=%S/Inputs/flash-attention-4.mlir --random=1 --check --seeds=20 | FileCheck %s --check-prefix=NUMBERS
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

gpu.module @m {
  // CHECK-LABEL: gpu.func @forward
  gpu.func @forward(%q: !global, %k: !keys, %v: !keys, %o: !global) kernel {
    %qs = warp.alloc : !pair
    %kvs = warp.alloc : !ring
    %es = warp.alloc : !pair
    // CHECK: warp.tmem_alloc column(0) : memref<128x128xf32, #warp.tmem>
    %s0 = warp.tmem_alloc column(0) : !scores
    %s1 = warp.tmem_alloc column(128) : !scores
    %o0 = warp.tmem_alloc column(256) : !out
    %o1 = warp.tmem_alloc column(320) : !out
    %a0 = warp.tmem_alloc column(384) : !row
    %a1 = warp.tmem_alloc column(385) : !row
    %pq = warp.pipeline : !two
    %pkv = warp.pipeline : !three
    %ps0 = warp.pipeline : !one
    %ps1 = warp.pipeline : !one
    %pp0 = warp.pipeline : !one
    %pp1 = warp.pipeline : !one
    %pa0 = warp.pipeline : !one
    %pa1 = warp.pipeline : !one
    %po0 = warp.pipeline : !one
    %po1 = warp.pipeline : !one
    %pe = warp.pipeline : !two
    warp.specialize captures(%q, %k, %v, %o, %qs, %kvs, %es, %s0, %s1, %o0, %o1, %a0, %a1, %pq, %pkv, %ps0, %ps1, %pp0, %pp1, %pa0, %pa1, %po0, %po1, %pe : !global, !keys, !keys, !global, !pair, !ring, !pair, !scores, !scores, !out, !out, !row, !row, !two, !three, !one, !one, !one, !one, !one, !one, !one, !one, !two)
      // CHECK: role @softmax0 warps(4) regs(192)
      role @softmax0 warps(4) regs(192) {
      ^bb0(%q: !global, %k: !keys, %v: !keys, %o: !global, %qs: !pair, %kvs: !ring, %es: !pair, %s0: !scores, %s1: !scores, %o0: !out, %o1: !out, %a0: !row, %a1: !row, %pq: !two, %pkv: !three, %ps0: !one, %ps1: !one, %pp0: !one, %pp1: !one, %pa0: !one, %pa1: !one, %po0: !one, %po1: !one, %pe: !two):
        %z = arith.constant 0 : i32
        %b1 = arith.constant 1 : i32
        %b3 = arith.constant 3 : i32
        %none = arith.constant dense<0.0> : !rowTile
        %least = arith.constant dense<0xFF800000> : !rowTile
        // log2(e) / sqrt(64)
        %scale = arith.constant dense<0.18033688> : !scoreTile
        %rowScale = arith.constant dense<0.18033688> : !rowTile
        // CHECK: warp.tmem_view %{{.*}} from 64 : memref<128x128xf32, #warp.tmem> to memref<128x128xbf16, #warp.tmem>
        %p0 = warp.tmem_view %s0 from 64 : !scores to !weights
        %end:2 = scf.for %j = %z to %b3 step %b1 iter_args(%m1 = %least, %l1 = %none) -> (!rowTile, !rowTile) : i32 {
          %phase = arith.andi %j, %b1 : i32
          warp.consumer_wait %ps0[%z, %phase] : !one
          // CHECK: warp.tmem_load %{{.*}} : memref<128x128xf32, #warp.tmem> to tensor<128x128xf32, #tile.reg>
          %x = warp.tmem_load %s0 : !scores to !scoreTile
          %largest = tile.reduce max dim 1 %x : !scoreTile to !rowTile
          %m2 = arith.maximumf %m1, %largest : !rowTile
          %grown = arith.subf %m1, %m2 : !rowTile
          %grownScaled = arith.mulf %grown, %rowScale : !rowTile
          %factor = math.exp2 %grownScaled : !rowTile
          warp.producer_acquire %pa0[%z, %phase] : !one
          warp.tmem_store %factor to %a0 : !rowTile, !row
          warp.sync_lanes tmem_loads tmem_stores
          warp.producer_commit %pa0[%z, %phase] : !one
          %mb = tile.broadcast %m2 : !rowTile to !scoreTile
          %below = arith.subf %x, %mb : !scoreTile
          %scaled = arith.mulf %below, %scale : !scoreTile
          %e = math.exp2 %scaled : !scoreTile
          %rounded = arith.truncf %e : !scoreTile to !weightTile
          warp.producer_acquire %pp0[%z, %phase] : !one
          // CHECK: warp.tmem_store %{{.*}} to %{{.*}} : tensor<128x128xbf16, #tile.reg>, memref<128x128xbf16, #warp.tmem>
          warp.tmem_store %rounded to %p0 : !weightTile, !weights
          warp.sync_lanes tmem_loads tmem_stores
          warp.producer_commit %pp0[%z, %phase] : !one
          warp.consumer_release %ps0[%z, %phase] : !one
          %sum = tile.reduce add dim 1 %e : !scoreTile to !rowTile
          %kept = arith.mulf %l1, %factor : !rowTile
          %l2 = arith.addf %kept, %sum : !rowTile
          scf.yield %m2, %l2 : !rowTile, !rowTile
        }
        warp.producer_acquire %pa0[%z, %b1] : !one
        warp.tmem_store %end#1 to %a0 : !rowTile, !row
        warp.sync_lanes tmem_loads tmem_stores
        warp.producer_commit %pa0[%z, %b1] : !one
        warp.return
      }
      // CHECK: role @softmax1 warps(4) regs(192)
      role @softmax1 warps(4) regs(192) {
      ^bb0(%q: !global, %k: !keys, %v: !keys, %o: !global, %qs: !pair, %kvs: !ring, %es: !pair, %s0: !scores, %s1: !scores, %o0: !out, %o1: !out, %a0: !row, %a1: !row, %pq: !two, %pkv: !three, %ps0: !one, %ps1: !one, %pp0: !one, %pp1: !one, %pa0: !one, %pa1: !one, %po0: !one, %po1: !one, %pe: !two):
        %z = arith.constant 0 : i32
        %b1 = arith.constant 1 : i32
        %b3 = arith.constant 3 : i32
        %none = arith.constant dense<0.0> : !rowTile
        %least = arith.constant dense<0xFF800000> : !rowTile
        // log2(e) / sqrt(64)
        %scale = arith.constant dense<0.18033688> : !scoreTile
        %rowScale = arith.constant dense<0.18033688> : !rowTile
        %p1 = warp.tmem_view %s1 from 64 : !scores to !weights
        %end:2 = scf.for %j = %z to %b3 step %b1 iter_args(%m1 = %least, %l1 = %none) -> (!rowTile, !rowTile) : i32 {
          %phase = arith.andi %j, %b1 : i32
          warp.consumer_wait %ps1[%z, %phase] : !one
          %x = warp.tmem_load %s1 : !scores to !scoreTile
          %largest = tile.reduce max dim 1 %x : !scoreTile to !rowTile
          %m2 = arith.maximumf %m1, %largest : !rowTile
          %grown = arith.subf %m1, %m2 : !rowTile
          %grownScaled = arith.mulf %grown, %rowScale : !rowTile
          %factor = math.exp2 %grownScaled : !rowTile
          warp.producer_acquire %pa1[%z, %phase] : !one
          warp.tmem_store %factor to %a1 : !rowTile, !row
          warp.sync_lanes tmem_loads tmem_stores
          warp.producer_commit %pa1[%z, %phase] : !one
          %mb = tile.broadcast %m2 : !rowTile to !scoreTile
          %below = arith.subf %x, %mb : !scoreTile
          %scaled = arith.mulf %below, %scale : !scoreTile
          %e = math.exp2 %scaled : !scoreTile
          %rounded = arith.truncf %e : !scoreTile to !weightTile
          warp.producer_acquire %pp1[%z, %phase] : !one
          warp.tmem_store %rounded to %p1 : !weightTile, !weights
          warp.sync_lanes tmem_loads tmem_stores
          warp.producer_commit %pp1[%z, %phase] : !one
          warp.consumer_release %ps1[%z, %phase] : !one
          %sum = tile.reduce add dim 1 %e : !scoreTile to !rowTile
          %kept = arith.mulf %l1, %factor : !rowTile
          %l2 = arith.addf %kept, %sum : !rowTile
          scf.yield %m2, %l2 : !rowTile, !rowTile
        }
        warp.producer_acquire %pa1[%z, %b1] : !one
        warp.tmem_store %end#1 to %a1 : !rowTile, !row
        warp.sync_lanes tmem_loads tmem_stores
        warp.producer_commit %pa1[%z, %b1] : !one
        warp.return
      }
      // CHECK: role @correction warps(4) regs(80)
      role @correction warps(4) regs(80) {
      ^bb0(%q: !global, %k: !keys, %v: !keys, %o: !global, %qs: !pair, %kvs: !ring, %es: !pair, %s0: !scores, %s1: !scores, %o0: !out, %o1: !out, %a0: !row, %a1: !row, %pq: !two, %pkv: !three, %ps0: !one, %ps1: !one, %pp0: !one, %pp1: !one, %pa0: !one, %pa1: !one, %po0: !one, %po1: !one, %pe: !two):
        %z = arith.constant 0 : i32
        %b1 = arith.constant 1 : i32
        %b3 = arith.constant 3 : i32
        scf.for %j = %z to %b3 step %b1 : i32 {
          %phase = arith.andi %j, %b1 : i32
          %last = arith.xori %phase, %b1 : i32
          %rescales = arith.cmpi sgt, %j, %z : i32
          warp.consumer_wait %pa0[%z, %phase] : !one
          %factor0 = warp.tmem_load %a0 : !row to !rowTile
          warp.sync_lanes tmem_loads tmem_stores
          warp.consumer_release %pa0[%z, %phase] : !one
          scf.if %rescales {
            warp.consumer_wait %po0[%z, %last] : !one
            %old = warp.tmem_load %o0 : !out to !outTile
            %fb = tile.broadcast %factor0 : !rowTile to !outTile
            %new = arith.mulf %old, %fb : !outTile
            warp.tmem_store %new to %o0 : !outTile, !out
            warp.sync_lanes tmem_loads tmem_stores
            warp.consumer_release %po0[%z, %last] : !one
          }
          warp.consumer_wait %pa1[%z, %phase] : !one
          %factor1 = warp.tmem_load %a1 : !row to !rowTile
          warp.sync_lanes tmem_loads tmem_stores
          warp.consumer_release %pa1[%z, %phase] : !one
          scf.if %rescales {
            warp.consumer_wait %po1[%z, %last] : !one
            %old = warp.tmem_load %o1 : !out to !outTile
            %fb = tile.broadcast %factor1 : !rowTile to !outTile
            %new = arith.mulf %old, %fb : !outTile
            warp.tmem_store %new to %o1 : !outTile, !out
            warp.sync_lanes tmem_loads tmem_stores
            warp.consumer_release %po1[%z, %last] : !one
          }
        }
        warp.consumer_wait %pa0[%z, %b1] : !one
        %sum0 = warp.tmem_load %a0 : !row to !rowTile
        warp.sync_lanes tmem_loads tmem_stores
        warp.consumer_release %pa0[%z, %b1] : !one
        warp.consumer_wait %po0[%z, %z] : !one
        %total0 = warp.tmem_load %o0 : !out to !outTile
        warp.sync_lanes tmem_loads tmem_stores
        warp.consumer_release %po0[%z, %z] : !one
        %sb0 = tile.broadcast %sum0 : !rowTile to !outTile
        %result0 = arith.divf %total0, %sb0 : !outTile
        %rounded0 = arith.truncf %result0 : !outTile to tensor<128x64xbf16, #tile.reg>
        warp.producer_acquire %pe[%z, %z] : !two
        %e0 = warp.stage %es[%z] : !pair to !shared
        // CHECK: warp.local_store %{{.*}} to %{{.*}} : tensor<128x64xbf16, #tile.reg>, memref<128x64xbf16, #warp.shared<row_bytes = 128>>
        warp.local_store %rounded0 to %e0 : tensor<128x64xbf16, #tile.reg>, !shared
        warp.sync_lanes async_proxy
        warp.producer_commit %pe[%z, %z] : !two
        warp.consumer_wait %pa1[%z, %b1] : !one
        %sum1 = warp.tmem_load %a1 : !row to !rowTile
        warp.sync_lanes tmem_loads tmem_stores
        warp.consumer_release %pa1[%z, %b1] : !one
        warp.consumer_wait %po1[%z, %z] : !one
        %total1 = warp.tmem_load %o1 : !out to !outTile
        warp.sync_lanes tmem_loads tmem_stores
        warp.consumer_release %po1[%z, %z] : !one
        %sb1 = tile.broadcast %sum1 : !rowTile to !outTile
        %result1 = arith.divf %total1, %sb1 : !outTile
        %rounded1 = arith.truncf %result1 : !outTile to tensor<128x64xbf16, #tile.reg>
        warp.producer_acquire %pe[%b1, %z] : !two
        %e1 = warp.stage %es[%b1] : !pair to !shared
        warp.local_store %rounded1 to %e1 : tensor<128x64xbf16, #tile.reg>, !shared
        warp.sync_lanes async_proxy
        warp.producer_commit %pe[%b1, %z] : !two
        warp.return
      }
      // CHECK: role @mma warps(1) regs(48)
      role @mma warps(1) regs(48) {
      ^bb0(%q: !global, %k: !keys, %v: !keys, %o: !global, %qs: !pair, %kvs: !ring, %es: !pair, %s0: !scores, %s1: !scores, %o0: !out, %o1: !out, %a0: !row, %a1: !row, %pq: !two, %pkv: !three, %ps0: !one, %ps1: !one, %pp0: !one, %pp1: !one, %pa0: !one, %pa1: !one, %po0: !one, %po1: !one, %pe: !two):
        %z = arith.constant 0 : i32
        %b1 = arith.constant 1 : i32
        %b2 = arith.constant 2 : i32
        %b3 = arith.constant 3 : i32
        %false = arith.constant false
        %q0 = warp.stage %qs[%z] : !pair to !shared
        %q1 = warp.stage %qs[%b1] : !pair to !shared
        %p0 = warp.tmem_view %s0 from 64 : !scores to !weights
        %p1 = warp.tmem_view %s1 from 64 : !scores to !weights
        %k0 = warp.stage %kvs[%z] : !ring to !shared
        warp.consumer_wait %pkv[%z, %z] : !three
        warp.consumer_wait %pq[%z, %z] : !two
        warp.producer_acquire %ps0[%z, %z] : !one
        // CHECK: warp.dot_into %{{.*}}, %{{.*}}, %{{.*}} accumulate(%{{.*}}) transpose_b : memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<128x128xf32, #warp.tmem>
        // CHECK-NEXT: warp.commit_after_dots %{{.*}}[%{{.*}}, %{{.*}}] : !warp.pipeline<1>
        warp.dot_into %q0, %k0, %s0 accumulate(%false) transpose_b : !shared, !shared, !scores
        warp.commit_after_dots %ps0[%z, %z] : !one
        warp.consumer_wait %pq[%b1, %z] : !two
        warp.producer_acquire %ps1[%z, %z] : !one
        warp.dot_into %q1, %k0, %s1 accumulate(%false) transpose_b : !shared, !shared, !scores
        warp.commit_after_dots %ps1[%z, %z] : !one
        // CHECK: warp.release_after_dots %{{.*}}[%{{.*}}, %{{.*}}] : !warp.pipeline<3>
        warp.release_after_dots %pkv[%z, %z] : !three
        scf.for %j = %z to %b3 step %b1 : i32 {
          %phase = arith.andi %j, %b1 : i32
          %j1 = arith.addi %j, %b1 : i32
          %nextPhase = arith.andi %j1, %b1 : i32
          %accumulate = arith.cmpi sgt, %j, %z : i32
          %more = arith.cmpi slt, %j1, %b3 : i32
          // The ring holds K0, V0, K1, V1 ...
          %twice = arith.muli %j, %b2 : i32
          %vn = arith.addi %twice, %b1 : i32
          %vs = arith.remui %vn, %b3 : i32
          %vr = arith.divui %vn, %b3 : i32
          %vp = arith.andi %vr, %b1 : i32
          %kn = arith.addi %twice, %b2 : i32
          %ks = arith.remui %kn, %b3 : i32
          %kr = arith.divui %kn, %b3 : i32
          %kp = arith.andi %kr, %b1 : i32
          %vt = warp.stage %kvs[%vs] : !ring to !shared
          %kt = warp.stage %kvs[%ks] : !ring to !shared
          warp.consumer_wait %pkv[%vs, %vp] : !three
          warp.consumer_wait %pp0[%z, %phase] : !one
          warp.producer_acquire %po0[%z, %phase] : !one
          // CHECK: warp.dot_into %{{.*}}, %{{.*}}, %{{.*}} accumulate(%{{.*}}) : memref<128x128xbf16, #warp.tmem>, memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<128x64xf32, #warp.tmem>
          warp.dot_into %p0, %vt, %o0 accumulate(%accumulate) : !weights, !shared, !out
          warp.release_after_dots %pp0[%z, %phase] : !one
          warp.commit_after_dots %po0[%z, %phase] : !one
          scf.if %more {
            warp.consumer_wait %pkv[%ks, %kp] : !three
            warp.producer_acquire %ps0[%z, %nextPhase] : !one
            warp.dot_into %q0, %kt, %s0 accumulate(%false) transpose_b : !shared, !shared, !scores
            warp.commit_after_dots %ps0[%z, %nextPhase] : !one
          }
          warp.consumer_wait %pp1[%z, %phase] : !one
          warp.producer_acquire %po1[%z, %phase] : !one
          warp.dot_into %p1, %vt, %o1 accumulate(%accumulate) : !weights, !shared, !out
          warp.release_after_dots %pp1[%z, %phase] : !one
          warp.commit_after_dots %po1[%z, %phase] : !one
          warp.release_after_dots %pkv[%vs, %vp] : !three
          scf.if %more {
            warp.producer_acquire %ps1[%z, %nextPhase] : !one
            warp.dot_into %q1, %kt, %s1 accumulate(%false) transpose_b : !shared, !shared, !scores
            warp.commit_after_dots %ps1[%z, %nextPhase] : !one
            warp.release_after_dots %pkv[%ks, %kp] : !three
          }
        }
        warp.return
      }
      // CHECK: role @load warps(1) regs(48)
      role @load warps(1) regs(48) {
      ^bb0(%q: !global, %k: !keys, %v: !keys, %o: !global, %qs: !pair, %kvs: !ring, %es: !pair, %s0: !scores, %s1: !scores, %o0: !out, %o1: !out, %a0: !row, %a1: !row, %pq: !two, %pkv: !three, %ps0: !one, %ps1: !one, %pp0: !one, %pp1: !one, %pa0: !one, %pa1: !one, %po0: !one, %po1: !one, %pe: !two):
        %z = arith.constant 0 : i32
        %b1 = arith.constant 1 : i32
        %b3 = arith.constant 3 : i32
        %b6 = arith.constant 6 : i32
        %c0 = arith.constant 0 : index
        %c128 = arith.constant 128 : index
        %c256 = arith.constant 256 : index
        %block = gpu.block_id x
        %row0 = arith.muli %block, %c256 : index
        %row1 = arith.addi %row0, %c128 : index
        warp.producer_acquire %pq[%z, %z] : !two
        %q0 = warp.stage %qs[%z] : !pair to !shared
        warp.copy async %q[%c0, %c0, %row0, %c0] dims [2, 3] to %q0 : !global to !shared
        warp.producer_commit %pq[%z, %z] : !two
        warp.producer_acquire %pq[%b1, %z] : !two
        %q1 = warp.stage %qs[%b1] : !pair to !shared
        warp.copy async %q[%c0, %c0, %row1, %c0] dims [2, 3] to %q1 : !global to !shared
        warp.producer_commit %pq[%b1, %z] : !two
        scf.for %n = %z to %b6 step %b1 : i32 {
          %stage = arith.remui %n, %b3 : i32
          %round = arith.divui %n, %b3 : i32
          %phase = arith.andi %round, %b1 : i32
          %half = arith.shrui %n, %b1 : i32
          %j = arith.index_cast %half : i32 to index
          %row = arith.muli %j, %c128 : index
          %odd = arith.trunci %n : i32 to i1
          warp.producer_acquire %pkv[%stage, %phase] : !three
          %t = warp.stage %kvs[%stage] : !ring to !shared
          scf.if %odd {
            warp.copy async %v[%c0, %c0, %row, %c0] dims [2, 3] to %t : !keys to !shared
          } else {
            warp.copy async %k[%c0, %c0, %row, %c0] dims [2, 3] to %t : !keys to !shared
          }
          warp.producer_commit %pkv[%stage, %phase] : !three
        }
        warp.return
      }
      // CHECK: role @epilogue warps(2) regs(48)
      role @epilogue warps(2) regs(48) {
      ^bb0(%q: !global, %k: !keys, %v: !keys, %o: !global, %qs: !pair, %kvs: !ring, %es: !pair, %s0: !scores, %s1: !scores, %o0: !out, %o1: !out, %a0: !row, %a1: !row, %pq: !two, %pkv: !three, %ps0: !one, %ps1: !one, %pp0: !one, %pp1: !one, %pa0: !one, %pa1: !one, %po0: !one, %po1: !one, %pe: !two):
        %z = arith.constant 0 : i32
        %b1 = arith.constant 1 : i32
        %c0 = arith.constant 0 : index
        %c128 = arith.constant 128 : index
        %c256 = arith.constant 256 : index
        %block = gpu.block_id x
        %row0 = arith.muli %block, %c256 : index
        %row1 = arith.addi %row0, %c128 : index
        warp.consumer_wait %pe[%z, %z] : !two
        %e0 = warp.stage %es[%z] : !pair to !shared
        // CHECK: warp.copy_out %{{.*}} to %{{.*}}[{{.*}}] dims [2, 3] : memref<128x64xbf16, #warp.shared<row_bytes = 128>> to memref<1x1x512x64xbf16>
        warp.copy_out %e0 to %o[%c0, %c0, %row0, %c0] dims [2, 3] : !shared to !global
        warp.consumer_release %pe[%z, %z] : !two
        warp.consumer_wait %pe[%b1, %z] : !two
        %e1 = warp.stage %es[%b1] : !pair to !shared
        warp.copy_out %e1 to %o[%c0, %c0, %row1, %c0] dims [2, 3] : !shared to !global
        warp.consumer_release %pe[%b1, %z] : !two
        warp.return
      }
    gpu.return
  }
  launch.abi @forward target("sm_90a")
    plan(<#warp.mma_sync_unit, tile_m = 256, tile_n = 128, warps = 16, stages = 3>)
    tensors([#launch.tensor<"q", read, tensor<1x1x512x64xbf16>, ["B", "Hq", "Sq", "D"], 16>, #launch.tensor<"k", read, tensor<1x1x384x64xbf16>, ["B", "Hkv", "Skv", "D"], 16>,
             #launch.tensor<"v", read, tensor<1x1x384x64xbf16>, ["B", "Hkv", "Skv", "Dv"], 16>, #launch.tensor<"o", write, tensor<1x1x512x64xbf16>, ["B", "Hq", "Sq", "Dv"], 16>])
    parameters([#launch.memref<"q", [0, 1, 2, 3]>, #launch.memref<"k", [0, 1, 2, 3]>, #launch.memref<"v", [0, 1, 2, 3]>, #launch.memref<"o", [0, 1, 2, 3]>])
    grid([] affine_map<() -> (2)>) threads(512) shared_memory(0)
}
