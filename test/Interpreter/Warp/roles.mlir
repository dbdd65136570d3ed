// Hand-written dense attention for Hopper: a role that loads, a role of two
// warp groups that computes in ping-pong order, and dynamic work. 5 tiles of
// 128 queries for 2 CTAs, 3 blocks of 64 keys. All interleavings give the same,
// correct result.
// RUN: fovea-run %s --reference=%S/Inputs/dense.mlir --random=1 --check --seeds=20 | FileCheck %s
// CHECK: o 1x1x640x64: {{.*}}: passed

#reg = #warp.wgmma<groups = 2>
!row = tensor<128x1xf32, #reg>
!score = tensor<128x64xf32, #reg>
!weight = tensor<128x64xbf16, #reg>
!tile = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!query = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!queries = memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>
!q = memref<1x1x640x64xbf16>
!k = memref<1x1x192x64xbf16>
!p = !warp.pipeline<2>

gpu.module @m {
  gpu.func @f(%q: !q, %k: !k, %v: !k, %o: !q) kernel {
    %qs = warp.alloc : !queries
    %ks = warp.alloc : !ring
    %vs = warp.alloc : !ring
    %pq = warp.pipeline : !p
    %pk = warp.pipeline : !p
    %pv = warp.pipeline : !p
    %pm = warp.pipeline : !p
    %m = warp.mailbox : !warp.mailbox<2>
    %t = warp.turns : !warp.turns<2>
    %first = gpu.block_id x
    warp.specialize captures(%q, %k, %v, %o, %qs, %ks, %vs, %pq, %pk, %pv, %pm, %m, %t, %first : !q, !k, !k, !q, !queries, !ring, !ring, !p, !p, !p, !p, !warp.mailbox<2>, !warp.turns<2>, index)
      role @load warps(4) regs(24) {
      ^bb0(%q0: !q, %k0: !k, %v0: !k, %o0: !q, %qs0: !queries, %ks0: !ring, %vs0: !ring, %pq0: !p, %pk0: !p, %pv0: !p, %pm0: !p, %m0: !warp.mailbox<2>, %t0: !warp.turns<2>, %first0: index):
        %c0 = arith.constant 0 : index
        %c5 = arith.constant 5 : index
        %c64 = arith.constant 64 : index
        %c128 = arith.constant 128 : index
        %c192 = arith.constant 192 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %end:5 = scf.while (%w = %first0, %ts = %z, %tp = %z, %s = %z, %p = %z) : (index, i32, i32, i32, i32) -> (index, i32, i32, i32, i32) {
          %more = arith.cmpi slt, %w, %c5 : index
          scf.condition(%more) %w, %ts, %tp, %s, %p : index, i32, i32, i32, i32
        } do {
        ^bb0(%w: index, %ts: i32, %tp: i32, %s: i32, %p: i32):
          %row = arith.muli %w, %c128 : index
          warp.producer_acquire %pq0[%ts, %tp] : !p
          %qt = warp.stage %qs0[%ts] : !queries to !query
          warp.copy async %q0[%c0, %c0, %row, %c0] dims [2, 3] to %qt : !q to !query
          warp.producer_commit %pq0[%ts, %tp] : !p
          %next:2 = scf.for %j = %c0 to %c192 step %c64 iter_args(%s1 = %s, %p1 = %p) -> (i32, i32) {
            warp.producer_acquire %pk0[%s1, %p1] : !p
            %kt = warp.stage %ks0[%s1] : !ring to !tile
            warp.copy async %k0[%c0, %c0, %j, %c0] dims [2, 3] to %kt : !k to !tile
            warp.producer_commit %pk0[%s1, %p1] : !p
            warp.producer_acquire %pv0[%s1, %p1] : !p
            %vt = warp.stage %vs0[%s1] : !ring to !tile
            warp.copy async %v0[%c0, %c0, %j, %c0] dims [2, 3] to %vt : !k to !tile
            warp.producer_commit %pv0[%s1, %p1] : !p
            %s2 = arith.xori %s1, %one : i32
            %p2 = arith.xori %p1, %s1 : i32
            scf.yield %s2, %p2 : i32, i32
          }
          warp.producer_acquire %pm0[%ts, %tp] : !p
          %w1 = warp.fetch_work : index
          warp.send %w1 to %m0[%ts] : !warp.mailbox<2>
          warp.producer_commit %pm0[%ts, %tp] : !p
          %ts1 = arith.xori %ts, %one : i32
          %tp1 = arith.xori %tp, %ts : i32
          scf.yield %w1, %ts1, %tp1, %next#0, %next#1 : index, i32, i32, i32, i32
        }
        warp.finish_work
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%q0: !q, %k0: !k, %v0: !k, %o0: !q, %qs0: !queries, %ks0: !ring, %vs0: !ring, %pq0: !p, %pk0: !p, %pv0: !p, %pm0: !p, %m0: !warp.mailbox<2>, %t0: !warp.turns<2>, %first0: index):
        %c0 = arith.constant 0 : index
        %c5 = arith.constant 5 : index
        %c64 = arith.constant 64 : index
        %c128 = arith.constant 128 : index
        %c192 = arith.constant 192 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %zero = arith.constant dense<0.0> : !score
        %none = arith.constant dense<0.0> : !row
        %least = arith.constant dense<0xFF800000> : !row
        // log2(e) / sqrt(64)
        %scale = arith.constant dense<0.18033688> : !score
        %rowScale = arith.constant dense<0.18033688> : !row
        %end:5 = scf.while (%w = %first0, %ts = %z, %tp = %z, %s = %z, %p = %z) : (index, i32, i32, i32, i32) -> (index, i32, i32, i32, i32) {
          %more = arith.cmpi slt, %w, %c5 : index
          scf.condition(%more) %w, %ts, %tp, %s, %p : index, i32, i32, i32, i32
        } do {
        ^bb0(%w: index, %ts: i32, %tp: i32, %s: i32, %p: i32):
          warp.consumer_wait %pq0[%ts, %tp] : !p
          %qt = warp.stage %qs0[%ts] : !queries to !query
          %next:5 = scf.for %j = %c0 to %c192 step %c64 iter_args(%s1 = %s, %p1 = %p, %m1 = %least, %l1 = %none, %o1 = %zero) -> (i32, i32, !row, !row, !score) {
            warp.consumer_wait %pk0[%s1, %p1] : !p
            %kt = warp.stage %ks0[%s1] : !ring to !tile
            warp.begin_turn %t0 : !warp.turns<2>
            %ds = warp.dot async %qt, %kt, %zero transpose_b : !query, !tile, !score
            warp.end_turn %t0 : !warp.turns<2>
            %x = warp.dot_wait %ds : !warp.pending<!score>
            warp.consumer_release %pk0[%s1, %p1] : !p
            %largest = tile.reduce max dim 1 %x : !score to !row
            %m2 = arith.maximumf %m1, %largest : !row
            %mb = tile.broadcast %m2 : !row to !score
            %below = arith.subf %x, %mb : !score
            %scaled = arith.mulf %below, %scale : !score
            %e = math.exp2 %scaled : !score
            %grown = arith.subf %m1, %m2 : !row
            %grownScaled = arith.mulf %grown, %rowScale : !row
            %factor = math.exp2 %grownScaled : !row
            %sum = tile.reduce add dim 1 %e : !score to !row
            %kept = arith.mulf %l1, %factor : !row
            %l2 = arith.addf %kept, %sum : !row
            %fb = tile.broadcast %factor : !row to !score
            %o2 = arith.mulf %o1, %fb : !score
            %weights = arith.truncf %e : !score to !weight
            warp.consumer_wait %pv0[%s1, %p1] : !p
            %vt = warp.stage %vs0[%s1] : !ring to !tile
            %do = warp.dot async %weights, %vt, %o2 : !weight, !tile, !score
            %o3 = warp.dot_wait %do : !warp.pending<!score>
            warp.consumer_release %pv0[%s1, %p1] : !p
            %s2 = arith.xori %s1, %one : i32
            %p2 = arith.xori %p1, %s1 : i32
            scf.yield %s2, %p2, %m2, %l2, %o3 : i32, i32, !row, !row, !score
          }
          warp.consumer_release %pq0[%ts, %tp] : !p
          %lb = tile.broadcast %next#3 : !row to !score
          %result = arith.divf %next#4, %lb : !score
          %rounded = arith.truncf %result : !score to !weight
          %row = arith.muli %w, %c128 : index
          tile.store %rounded, %o0[%c0, %c0, %row, %c0] dims [2, 3] : !weight, !q
          warp.consumer_wait %pm0[%ts, %tp] : !p
          %w1 = warp.receive %m0[%ts] : !warp.mailbox<2>
          warp.consumer_release %pm0[%ts, %tp] : !p
          %ts1 = arith.xori %ts, %one : i32
          %tp1 = arith.xori %tp, %ts : i32
          scf.yield %w1, %ts1, %tp1, %next#0, %next#1 : index, i32, i32, i32, i32
        }
        warp.return
      }
    gpu.return
  }
  launch.abi @f target("sm_90a")
    plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8>)
    tensors([#launch.tensor<"q", read, tensor<1x1x640x64xbf16>, ["B", "Hq", "Sq", "D"], 16>, #launch.tensor<"k", read, tensor<1x1x192x64xbf16>, ["B", "Hkv", "Skv", "D"], 16>,
             #launch.tensor<"v", read, tensor<1x1x192x64xbf16>, ["B", "Hkv", "Skv", "Dv"], 16>, #launch.tensor<"o", write, tensor<1x1x640x64xbf16>, ["B", "Hq", "Sq", "Dv"], 16>])
    parameters([#launch.memref<"q", [0, 1, 2, 3]>, #launch.memref<"k", [0, 1, 2, 3]>, #launch.memref<"v", [0, 1, 2, 3]>, #launch.memref<"o", [0, 1, 2, 3]>])
    grid([] affine_map<() -> (2)>) threads(384) shared_memory(0)
}
