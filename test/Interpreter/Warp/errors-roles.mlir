// Errors of two roles without a pipeline between their accesses. The program of
// this file does nothing; sed inserts the error: before the roles, in @one, or
// in @two (two warp groups).
// RUN: fovea-run %s
// DEFINE: %{found} = not fovea-run - --seeds=20 2>&1 | FileCheck %s --check-prefix

// A pipeline that does not fill the buffer.
// RUN: sed 's,\/\/ in one,warp.local_store %%ta to %%ba : !half\, !tile\nwarp.producer_acquire %%pa[%%za\, %%za] : !p\nwarp.producer_commit %%pa[%%za\, %%za] : !p\n,; s,\/\/ in two,warp.consumer_wait %%pb[%%zb\, %%zb] : !p\n%%x = warp.local_load %%bb : !tile to !half\nwarp.consumer_release %%pb[%%zb\, %%zb] : !p,' %s | %{found}=READ
// READ: error: reads shared memory that role @one wrote: expected a pipeline between the two
// READ: note: written here
// READ-NEXT: warp.local_store %ta
// RUN: sed 's,\/\/ before,warp.local_store %%t to %%b : !half\, !tile,; s,\/\/ in one,warp.producer_acquire %%pa[%%za\, %%za] : !p\nwarp.producer_commit %%pa[%%za\, %%za] : !p\nwarp.producer_acquire %%pa[%%za\, %%onea] : !p\nwarp.local_store %%ta to %%ba : !half\, !tile\nwarp.producer_commit %%pa[%%za\, %%onea] : !p\n,; s,\/\/ in two,warp.consumer_wait %%pb[%%zb\, %%zb] : !p\n%%x = warp.local_load %%bb : !tile to !half\nwarp.consumer_release %%pb[%%zb\, %%zb] : !p,' %s | %{found}=WRITE
// WRITE: error: overwrites shared memory that warp group {{[01]}} of role @two read: expected a pipeline between the two
// An iteration that commits a stage without storing into it.
// RUN: sed 's,\/\/ in one,warp.producer_acquire %%pa[%%za\, %%za] : !p\n%%w = warp.stage %%ra[%%za] : !ring to !tile\nwarp.local_store %%ta to %%w : !half\, !tile\nwarp.fence_stores %%w : !tile\nwarp.producer_commit %%pa[%%za\, %%za] : !p\nwarp.producer_acquire %%pa[%%za\, %%onea] : !p\nwarp.producer_commit %%pa[%%za\, %%onea] : !p\n,; s,\/\/ in two,warp.consumer_wait %%pb[%%zb\, %%zb] : !p\n%%w0 = warp.stage %%rb[%%zb] : !ring to !tile\n%%x0 = warp.local_load %%w0 : !tile to !half\nwarp.consumer_release %%pb[%%zb\, %%zb] : !p\nwarp.consumer_wait %%pb[%%zb\, %%oneb] : !p\n%%w1 = warp.stage %%rb[%%zb] : !ring to !tile\n%%x1 = warp.local_load %%w1 : !tile to !half\nwarp.consumer_release %%pb[%%zb\, %%oneb] : !p\n,' %s | %{found}=ROUND
// ROUND: error: reads stage 0 of a pipeline, which was not filled for the current use
// ROUND: note: last filled here
// ROUND-NEXT: warp.local_store %ta
// RUN: sed 's,\/\/ in two,warp.begin_turn %%ub : !warp.turns<2>,' %s | %{found}=TURN
// TURN: error: 'warp.begin_turn' has no 'warp.end_turn' after it
// RUN: sed 's,\/\/ in one,%%far = arith.constant 1099511627776 : index\nwarp.producer_acquire %%pa[%%za\, %%za] : !p\nwarp.send %%far to %%ma[%%za] : !warp.mailbox<1>\nwarp.producer_commit %%pa[%%za\, %%za] : !p,' %s | %{found}=SEND
// SEND: error: sends 1099511627776, which does not fit in 32 bits
// RUN: sed 's,\/\/ before,warp.local_store %%w to %%g : !both\, !wide,; s,\/\/ in two,warp.local_store %%wb to %%gb : !both\, !wide\nwarp.fence_stores %%gb : !wide\n%%x = warp.dot %%gb\, %%gb\, %%ob transpose_b : !wide\, !wide\, !square,' %s | %{found}=ROWS
// ROWS: error: reads rows that other warp groups stored
// RUN: sed 's,\/\/ before,warp.local_store %%n to %%i : !number\, !ints\nwarp.fence_stores %%i : !ints\n%%x = warp.dot %%i\, %%i\, %%s : !ints\, !ints\, !sum,' %s | %{found}=DOT
// DOT: error: cannot execute a dot of integers or f64

!half = tensor<64x16xf16, #warp.wgmma<groups = 1>>
!both = tensor<128x16xf16, #warp.wgmma<groups = 2>>
!sum = tensor<16x16xf32, #tile.reg>
!number = tensor<16x16xi32, #tile.reg>
!tile = memref<64x16xf16, #warp.shared<row_bytes = 32>>
!ring = memref<1x64x16xf16, #warp.shared<row_bytes = 32>>
!wide = memref<128x16xf16, #warp.shared<row_bytes = 32>>
!square = tensor<128x128xf32, #warp.wgmma<groups = 2>>
!ints = memref<16x16xi32, #warp.shared<row_bytes = 64>>
!p = !warp.pipeline<1>
gpu.module @m {
  gpu.func @f() kernel {
    %t = arith.constant dense<1.0> : !half
    %s = arith.constant dense<1.0> : !sum
    %w = arith.constant dense<1.0> : !both
    %n = arith.constant dense<1> : !number
    %b = warp.alloc : !tile
    %g = warp.alloc : !wide
    %r = warp.alloc : !ring
    %i = warp.alloc : !ints
    %p = warp.pipeline : !p
    %m = warp.mailbox : !warp.mailbox<1>
    %u = warp.turns : !warp.turns<2>
    // before
    warp.specialize captures(%b, %p, %m, %u, %g, %r : !tile, !p, !warp.mailbox<1>, !warp.turns<2>, !wide, !ring)
      role @one warps(4) regs(24) {
      ^bb0(%ba: !tile, %pa: !p, %ma: !warp.mailbox<1>, %ua: !warp.turns<2>, %ga: !wide, %ra: !ring):
        %za = arith.constant 0 : i32
        %onea = arith.constant 1 : i32
        %ta = arith.constant dense<1.0> : !half
        // in one
        warp.return
      }
      role @two warps(8) regs(240) {
      ^bb0(%bb: !tile, %pb: !p, %mb: !warp.mailbox<1>, %ub: !warp.turns<2>, %gb: !wide, %rb: !ring):
        %zb = arith.constant 0 : i32
        %oneb = arith.constant 1 : i32
        %tb = arith.constant dense<1.0> : !half
        %wb = arith.constant dense<1.0> : !both
        %ob = arith.constant dense<1.0> : !square
        // in two
        warp.return
      }
    gpu.return
  }
  launch.abi @f target("sm_90a")
    plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
}
