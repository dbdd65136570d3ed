//===- Passes.td - Passes of the warp dialect --------------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_TRANSFORMS_PASSES_TD
#define FOVEA_DIALECT_WARP_TRANSFORMS_PASSES_TD

include "fovea/Dialect/Warp/IR/KernelFacts.td"

include "mlir/Pass/PassBase.td"

def WarpInsertAsyncCopies
    : KernelPass<"warp-insert-async-copies", [DotsReadMemory, IsOneProgram],
                 []> {
  let summary = "Make copies asynchronous, with one pipeline per copy";
  let body = [{
    Applies to kernels without roles, in which all warps copy and compute. A
    copy in a loop gets a pipeline and a buffer with as many stages as the plan
    gives for it. All stages but one are filled before the loop. Each iteration
    waits for its own stage and prefetches the stage that is needed `stages - 1`
    iterations later. A single stage is also filled before the loop; its next
    copy is issued after its last reader releases it, so copies are issued in
    the order in which their stages become free. A copy outside loops gets a
    pipeline of one stage; its wait precedes the first reader.

    Before:

    ```mlir
    !memory = memref<?x32xbf16, strided<[?, 1]>>
    !buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
    !query = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    !scores = tensor<64x32xf32, #tile.reg>
    %buffer = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero) -> (!scores) {
      warp.copy "k" %K[%j, %c0] dims [0, 1] to %buffer : !memory to !buffer
      %s = warp.dot "s" %q, %buffer, %acc transpose_b : !query, !buffer, !scores
      scf.yield %s : !scores
    }
    ```

    After, with two stages; the first block's copy precedes the loop:

    ```mlir
    !memory = memref<?x32xbf16, strided<[?, 1]>>
    !buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
    !ring = memref<2x32x32xbf16, #warp.shared<row_bytes = 64>>
    !query = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    !scores = tensor<64x32xf32, #tile.reg>
    %ring = warp.alloc : !ring
    %keys = warp.pipeline "k" : !warp.pipeline<2>
    ...
    %r:3 = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero, %stage = %c0_i32, %phase = %c0_i32) -> (!scores, i32, i32) {
      warp.consumer_wait %keys[%stage, %phase] : !warp.pipeline<2>
      %next = arith.addi %j, %c32 : index
      %exists = arith.cmpi slt, %next, %n : index
      ...
      warp.producer_acquire %keys[%next_stage, %next_phase] : !warp.pipeline<2>
      %to = warp.stage %ring[%next_stage] : !ring to !buffer
      warp.copy async "k" %K[%next, %c0] if(%exists) dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %keys[%next_stage, %next_phase] : !warp.pipeline<2>
      %k = warp.stage %ring[%stage] : !ring to !buffer
      %s = warp.dot "s" %q, %k, %acc transpose_b : !query, !buffer, !scores
      warp.consumer_release %keys[%stage, %phase] : !warp.pipeline<2>
      scf.yield %s, %next_stage, %next_phase : !scores, i32, i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numPipelines", "pipelines", "Number of pipelines created">
  ];
}

def WarpDistributeWork
    : KernelPass<"warp-distribute-work", [IsOneProgram],
                 [WorkIsDealt]> {
  let summary = "Lower the loop over work items to a loop in each CTA";
  let body = [{
    `tile.foreach_work` with schedule `static` or `dynamic` becomes an
    `scf.while`. The first work item of a CTA is the CTA's index. The next one
    is one grid size further (`static`) or the result of `warp.next_work`
    (`dynamic`). The whole body is in the `before` region, because each CTA has
    at least one item.

    With schedule `shares`, the loop over the pieces of a CTA's share is in an
    `scf.for` of at most one iteration, because a share may be empty.
    `tile.take_share` finds the share, and the extent of each item is computed
    where the CTA comes to it. With pieces of a fixed size the loop starts at
    the first piece that begins in the share, and has an iteration for each piece.

    Before:

    ```mlir
    tile.foreach_work %w to %count schedule(dynamic) {
      %row = arith.muli %w, %c128 : index
      ...
    }
    ```

    After:

    ```mlir
    %first = gpu.block_id x
    %end:2 = scf.while (%w = %first, %round = %zero) : (index, i32) -> (index, i32) {
      %row = arith.muli %w, %c128 : index
      ...
      %next = warp.next_work %round : index
      %rounds = arith.addi %round, %one : i32
      %more = arith.cmpi ult, %next, %count : index
      scf.condition(%more) %next, %rounds : index, i32
    } do { ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::fovea::warp::WarpDialect"];
  let statistics = [Statistic<"numLoops", "loops", "Number of loops over work items created">];
}

def WarpChainTiles
    : KernelPass<"warp-chain-tiles", [DotsReadMemory, WorkIsDealt, IsOneProgram],
                 []> {
  let summary = "Overlap the next tile's first QK dot with the current tile's last PV dot";
  let body = [{
    Cross-tile pipelining of a persistent kernel. The pass rotates the loop over
    work items: the part of the body before the loop over blocks moves to the
    end of the previous iteration, interleaved with the part after the loop over
    blocks. The first QK dot of the next tile and the last PV dot of the current
    tile are then outstanding together, and the current tile's output is stored
    while the next tile's softmax runs. The last iteration has no next tile and
    only executes its own epilogue.

    Only loops that `warp-schedule-loops` has pipelined are rotated.

    Before, one iteration of the loop over work items:

    ```mlir
    %s = warp.dot async "s" %q, %k, %zero transpose_b : ...   // the first block's scores
    %p = ...                                                  // their softmax
    %b:2 = scf.for ... iter_args(%w = %p, %acc = %zeros) { ... }
    %o = warp.dot async "o" %b#0, %v, %b#1 : ...              // the last block's product
    ...                                                       // its wait, and the output
    %next = warp.next_work %round : index
    %more = arith.cmpi ult, %next, %count : index
    scf.condition(%more) %next, %rounds : index, i32
    ```

    After, with `chain = 1`; the first tile's QK dot and softmax precede the
    loop:

    ```mlir
    %b:2 = scf.for ... iter_args(%w = %p, %acc = %zeros) { ... }
    %next = warp.next_work %round : index
    %more = arith.cmpi ult, %next, %count : index
    %go:3 = scf.if %more -> (...) {
      %s = warp.dot async "s" %q1, %k, %zero transpose_b : ... // the next tile's
      %o = warp.dot async "o" %b#0, %v, %b#1 : ...             // this tile's
      %p1 = ...                                                // softmax of %s
      ...                                                      // the wait for %o, and the output
      scf.yield %next, %rounds, %p1 : ...
    } else {
      %o = warp.dot async "o" %b#0, %v, %b#1 : ...             // the last tile has no next one
      ...
    }
    scf.condition(%more) %go#0, %go#1, %go#2 : ...
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numChained", "chained", "Number of loops rotated">
  ];
}

def WarpInsertPipelines
    : KernelPass<"warp-insert-pipelines", [DotsReadMemory, WorkIsDealt, IsOneProgram],
                 []> {
  let summary = "Create a pipeline for each copy and stream, without moving ops";
  let body = [{
    Applies to kernels whose copies and dots will belong to different roles. A
    copy, or a store of a computed tile (`tile.stream`) with its fence, gets a
    pipeline and a buffer with as many stages as the plan gives for its name.
    `warp.producer_acquire` and `warp.producer_commit` enclose the copy,
    `warp.consumer_wait` precedes the first reader and `warp.consumer_release`
    follows the last one. No other op moves: the prefetch distance follows from
    the role that later runs the copy.

    The stage index and phase are loop-carried through all loops around the
    copy. Rings with the same number of stages that advance in the same loop
    share one index, except for those that the plan lists with `counts_alone`. A
    stream that the plan lists `with` another one is copied together with it and
    has no pipeline of its own.

    For dots that accumulate in tensor memory (`warp.dot_into`), a stage that
    they read is released when they have finished (`warp.release_after_dots`).
    Their accumulator is a stream of one stage, committed with
    `warp.commit_after_dots`; so is a tile that is stored over an accumulator.
    The reader of an accumulator keeps its stage until the tile stored over it
    is complete.

    A dot that accumulates into the previous iteration's result has a stage in
    each iteration. In it the consumer updates the previous accumulator in
    place, possibly under a ballot, or only waits for it and releases it. The
    last accumulator is read after the loop, which must run at least once.

    Before:

    ```mlir
    %buffer = warp.alloc : memref<64x32xbf16, #warp.shared<row_bytes = 64>>
    scf.for %j = ... {
      warp.copy "k" %K[%j, %c0] dims [0, 1] to %buffer : ...
      %s = warp.dot "s" %q, %buffer, %zero transpose_b : ...
    }
    ```

    After:

    ```mlir
    %ring = warp.alloc : memref<4x64x32xbf16, #warp.shared<row_bytes = 64>>
    %keys = warp.pipeline "k" : !warp.pipeline<4>
    scf.for %j = ... iter_args(%stage = %c0, %phase = %c0) ... {
      warp.producer_acquire %keys[%stage, %phase] : !warp.pipeline<4>
      %to = warp.stage %ring[%stage] : ...
      warp.copy async "k" %K[%j, %c0] dims [0, 1] to %to : ...
      warp.producer_commit %keys[%stage, %phase] : !warp.pipeline<4>
      warp.consumer_wait %keys[%stage, %phase] : !warp.pipeline<4>
      %k = warp.stage %ring[%stage] : ...
      %s = warp.dot "s" %q, %k, %zero transpose_b : ...
      warp.consumer_release %keys[%stage, %phase] : !warp.pipeline<4>
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numPipelines", "pipelines", "Number of pipelines created">
  ];
}

def WarpInsertOutputCopies
    : KernelPass<"warp-insert-output-copies", [IsOneProgram],
                 []> {
  let summary = "Store output tiles through shared memory with TMA";
  let body = [{
    Applies to stores that the plan lists as `copied` and to stores that add. In
    place of `tile.store`, warps write their rows to shared memory
    (`warp.local_store`) and issue a TMA store of them (`warp.copy_out async`).
    TMA clips the tile at the bounds of the tensor.

    With `output_stages = 1`, output has a buffer of its own, and
    `warp.copy_out_wait` precedes its next use. With 0, it reuses the stage of Q
    once the tile's scores are done; the stage is then released after that wait
    instead of after its last dot. At the end the kernel waits until all output
    is written.

    Reusing the stage requires that its only other readers are dots of the
    store's own role that take it as a non-transposed first operand: a warp then
    reads only the rows that it stores. Otherwise the store is left as it is and
    its entry is removed from the plan.

    The pass does not change stores that TMA cannot perform: stores of rows that
    end before the tensor does (packed sequences), of PackGQA folds that do not
    divide the 16 rows of a warp, of elements that are not 16 bits wide, and to
    tensors that may not be aligned to 16 bytes.

    Before:

    ```mlir
    tile.store "out" %o, %O[%i, %c0] dims [0, 1] : ...
    ```

    After:

    ```mlir
    warp.copy_out_wait %buffer : ...
    warp.local_store "out" %o to %buffer : ...
    warp.fence_stores %buffer : ...
    warp.copy_out async "out" %buffer to %O[%i, %c0] dims [0, 1] : ...
    ...
    warp.copy_out_wait written %buffer : ...
    ```
  }];
  let dependentDialects = ["::fovea::warp::WarpDialect"];
  let statistics = [
    Statistic<"numCopies", "copies", "Number of stores replaced by copies">
  ];
}

def WarpSplitSoftmax
    : KernelPass<"warp-split-softmax", [DotsReadMemory, IsOneProgram],
                 []> {
  let summary = "Order exponentials before and after the wait for a dot";
  let body = [{
    Applies where the first operand of a dot is computed while the dot that
    reads the previous first operand is outstanding. The pass fixes the order
    around the wait for that dot. The rounded operand must be computed after the
    wait, because its registers may still be read. The values to be rounded are
    computed before the wait, to overlap with the dot. In loops, only a share of
    the columns (`operand_above`, by the dot's name) is computed before the
    wait; the other columns are computed after it, together with the rounding of
    the first ones.

    Before:

    ```mlir
    %p = math.exp2 %x : tensor<128x64xf32, #tile.reg>
    %weights = arith.truncf %p : tensor<128x64xf32, #tile.reg> to tensor<128x64xbf16, #tile.reg>
    %o = warp.dot_wait %pending : ...
    ```

    After:

    ```mlir
    %left = warp.extract_columns %x from 0 : ... to tensor<128x32xf32, #tile.reg>
    %above = math.exp2 %left : tensor<128x32xf32, #tile.reg>
    %o, %held = warp.dot_wait %pending above(...) held(%above : ...) : ...
    %right = warp.extract_columns %x from 32 : ... to tensor<128x32xf32, #tile.reg>
    %below = math.exp2 %right : tensor<128x32xf32, #tile.reg>
    ...                                           // both are rounded and concatenated
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numSplit", "waits", "Number of waits with an order">
  ];
}

def WarpAssignBallotLayouts
    : KernelPass<"warp-assign-ballot-layouts", [IsOneProgram],
                 []> {
  let summary = "Assign one ballot candidate to each lane";
  let body = [{
    Gives the flags of a `tile.ballot`, and all values that they are computed
    from, the layout `#warp.lanes`. The defining ops are cloned before the
    ballot. The pass runs before any pass that moves values into loops, since
    such values can no longer be cloned.

    Before:

    ```mlir
    %lane = tile.iota dim 1 : tensor<1x32xi32, #tile.reg>
    %flags = arith.cmpi slt, %lane, %count : tensor<1x32xi32, #tile.reg>
    %bits = tile.ballot %flags : tensor<1x32xi1, #tile.reg>
    ```

    After:

    ```mlir
    %lane = tile.iota dim 1 : tensor<1x32xi32, #warp.lanes>
    %flags = arith.cmpi slt, %lane, %count : tensor<1x32xi32, #warp.lanes>
    %bits = tile.ballot %flags : tensor<1x32xi1, #warp.lanes>
    ```
  }];
  let dependentDialects = ["::fovea::warp::WarpDialect"];
  let statistics = [Statistic<"numBallots", "ballots", "Number of ballots given a layout">];
}

def WarpAssignRelativePositionLayouts
    : KernelPass<"warp-assign-relative-position-layouts", [IsOneProgram],
                 []> {
  let summary = "Compute relative-position values once per warp";
  let body = [{
    Gives the operand of a `tile.diagonals`, and all values that it is computed
    from, the layout `#warp.diagonals`. The defining ops are cloned before the
    op. Each warp then computes the value of a relative position once or twice
    instead of once per score, and lanes exchange the values. The pass runs at
    the same point as `warp-assign-ballot-layouts`, for the same reason.

    If the operand comes from a stream, each lane loads the values that it needs
    (`#warp.fragment_diagonals`) and lanes exchange nothing. The producer of the
    stream gets `#warp.lanes`: one warp computes each value once.

    Before:

    ```mlir
    %bias = arith.mulf %distance, %slope : tensor<1x288xf32, #tile.reg>
    %block = tile.diagonals %bias : tensor<1x288xf32, #tile.reg> to tensor<256x32xf32, #tile.reg>
    ```

    After:

    ```mlir
    %bias = arith.mulf %distance, %slope : tensor<1x288xf32, #warp.diagonals<rows = 256, warps = 16>>
    %block = tile.diagonals %bias : tensor<1x288xf32, #warp.diagonals<rows = 256, warps = 16>> to tensor<256x32xf32, #tile.reg>
    ```
  }];
  let dependentDialects = ["::fovea::warp::WarpDialect"];
  let statistics = [Statistic<"numDiagonals", "tiles", "Number of relative-position tiles given a layout">];
}

def WarpApproximateExp2
    : KernelPass<"warp-approximate-exp2", [DotsReadMemory],
                 []> {
  let summary = "Compute a share of the exponentials on FMA units";
  let body = [{
    The special-function unit computes 16 exponentials per clock and SM. If
    softmax is bound by it, a share of the exponentials can be polynomials on
    FMA units (FlashAttention-4). The pass applies to each `math.exp2` on f32
    whose result is rounded to 16 bits and used by a dot in the same or the next
    iteration. The last columns, in multiples of 8, are computed as below; their
    share is `operand_by_fma` of the dot's name in the plan.

    ```text
    x' = max(x, -127)                  // keeps NaN; -inf becomes -127
    t  = x' + (1.5 * 2^23 + 127)       // the integer n next to x', plus 127, in
    f  = x' - (t - (1.5 * 2^23 + 127)) // the low bits; f in [-1/2, 1/2]
    p  = c0 + c1 f + c2 f^2 + c3 f^3   // 2^f
    2^x = p * bits(t << 23)            // 2^n; 0 for n = -127
    ```

    The polynomial is the minimax polynomial of degree 3 for the relative error,
    which is 7.5e-5; rounding to bf16 (2^-9) and f16 (2^-12) hides it. Results
    below 2^-127 become 0, so the probability of a masked key is exactly 0.
    Arguments are at most 127: the exponents of probabilities exceed 0 by at
    most the `tau` of the recurrence.

    This pass is off by default: on Hopper, FMA units lack register ports while
    the MMA unit runs, which costs 2 to 8 %.

    Before:

    ```mlir
    %e = math.exp2 %s : tensor<128x80xf32, #tile.reg>
    %w = arith.truncf %e : tensor<128x80xf32, #tile.reg> to tensor<128x80xbf16, #tile.reg>
    ```

    After, with a share of 25 per cent, which is 16 of 80 columns:

    ```mlir
    %left = warp.extract_columns %s from 0 : tensor<128x80xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
    %exact = math.exp2 %left : tensor<128x64xf32, #tile.reg>
    %right = warp.extract_columns %s from 64 : tensor<128x80xf32, #tile.reg> to tensor<128x16xf32, #tile.reg>
    %x = arith.maximumf %right, %least : tensor<128x16xf32, #tile.reg>
    %t = arith.addf %x, %magic : tensor<128x16xf32, #tile.reg>
    ...
    %p = math.fma %p2, %f, %c0 : tensor<128x16xf32, #tile.reg>
    %bits = arith.bitcast %t : tensor<128x16xf32, #tile.reg> to tensor<128x16xi32, #tile.reg>
    %exponent = arith.shli %bits, %c23 : tensor<128x16xi32, #tile.reg>
    %power = arith.bitcast %exponent : tensor<128x16xi32, #tile.reg> to tensor<128x16xf32, #tile.reg>
    %close = arith.mulf %p, %power : tensor<128x16xf32, #tile.reg>
    %e = warp.concat_columns %exact, %close : tensor<128x64xf32, #tile.reg>, tensor<128x16xf32, #tile.reg> to tensor<128x80xf32, #tile.reg>
    %w = arith.truncf %e : tensor<128x80xf32, #tile.reg> to tensor<128x80xbf16, #tile.reg>
    ```
  }];
  let options = [
    Option<"share", "share", "int64_t", "-1",
           "Share of the columns in per cent; negative: use the kernel's plan">
  ];
  let dependentDialects = ["::fovea::warp::WarpDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let statistics = [
    Statistic<"numApproximated", "approximated", "Number of tiles with approximated columns">
  ];
}

def WarpAssignLayouts
    : KernelPass<"warp-assign-layouts", [BlocksAreLoops, DotsReadMemory],
                 [HasThreadLayouts]> {
  let summary = "Assign a thread layout to each register tile";
  let body = [{
    Replaces `#tile.reg` by a thread layout in all types of the kernel.
    Accumulators, and tiles computed with them, get the accumulator layout of
    the plan's MMA unit for the warps that compute. A computed first operand
    with 16-bit elements has the same layout. For other element widths the MMA
    unit has an operand layout, and the pass inserts a `warp.convert_layout`
    before the dot.

    If `launch.abi` lists roles, they may have different numbers of warps, so
    the layout of a tile depends on the role that owns its ops. Tiles that are
    joined by an op or carried by a loop form one class. The class gets the
    layout of the role whose dots and stores it contains. The pass fails if
    roles with different numbers of warps share a class, since such a tile has
    to pass through a stream. Values made of constants and scalars are first
    cloned for each use. A class whose tiles have fewer rows than all warps of
    its role hold is distributed along the columns, too: the rows of the states
    that `tile.join` combines.

    Before:

    ```mlir
    %s = warp.dot "s" %q, %k, %zero transpose_b : ..., tensor<128x64xf32, #tile.reg>
    %m = tile.reduce max dim 1 %s : tensor<128x64xf32, #tile.reg> to tensor<128x1xf32, #tile.reg>
    ```

    After:

    ```mlir
    %s = warp.dot "s" %q, %k, %zero transpose_b : ..., tensor<128x64xf32, #warp.wgmma<groups = 2>>
    %m = tile.reduce max dim 1 %s : tensor<128x64xf32, #warp.wgmma<groups = 2>> to tensor<128x1xf32, #warp.wgmma<groups = 2>>
    ```
  }];
  let dependentDialects = ["::fovea::warp::WarpDialect"];
  let statistics = [
    Statistic<"numConversions", "conversions",
              "Number of operands converted to another layout">
  ];
}

def WarpPrefetchScalars
    : KernelPass<"warp-prefetch-scalars", [BlocksAreLoops],
                 []> {
  let summary = "Load scalars one loop iteration ahead";
  let body = [{
    A scalar that an iteration loads from global memory, in its body or in a
    branch of it, is loaded in the previous iteration, after the dots issued
    there, and is loop-carried. A dot whose accumulator starts from the scalar
    then does not wait for memory. The index, and the condition of the branch,
    must be pure arithmetic on the loop index.

    The set of loaded elements does not change: an iteration that does not
    exist, or that would not take the branch, loads nothing. If an index is
    clamped, so that it may stay the same, it is loop-carried too, and the load
    is repeated only if the index changes. The pass does not
    change loops that write global memory.

    Before:

    ```mlir
    !tile = tensor<64x64xf32, #warp.wgmma<groups = 1>>
    !k = memref<64x16xbf16, #warp.shared<row_bytes = 32>>
    scf.for %j = %from to %to step %c1 {
      %same = arith.cmpi slt, %j, %end : index
      %start = scf.if %same -> (!tile) {
        %value = memref.load %table[%j] : memref<?xf32>
        %t = tile.broadcast %value : f32 to !tile
        scf.yield %t : !tile
      } else {
        scf.yield %zero : !tile
      }
      %i = warp.dot async "s" %q, %k, %start transpose_b : !k, !k, !tile
      %s = warp.dot_wait %i : !warp.pending<!tile>
      ...
    }
    ```

    After; the value for the first iteration is loaded before the loop:

    ```mlir
    !tile = tensor<64x64xf32, #warp.wgmma<groups = 1>>
    !k = memref<64x16xbf16, #warp.shared<row_bytes = 32>>
    %r:2 = scf.for %j = %from to %to step %c1 iter_args(%same = %same0, %value = %value0) -> (i1, f32) {
      %start = scf.if %same -> (!tile) {
        %t = tile.broadcast %value : f32 to !tile
        scf.yield %t : !tile
      } else {
        scf.yield %zero : !tile
      }
      %i = warp.dot async "s" %q, %k, %start transpose_b : !k, !k, !tile
      %next = arith.addi %j, %c1 : index
      %next_same = arith.cmpi slt, %next, %end : index
      %exists = arith.cmpi slt, %next, %to : index
      %reads = arith.andi %exists, %next_same : i1
      %next_value = scf.if %reads -> (f32) {
        %v = memref.load %table[%next] : memref<?xf32>
        scf.yield %v : f32
      } else {
        scf.yield %value : f32
      }
      %s = warp.dot_wait %i : !warp.pending<!tile>
      ...
      scf.yield %next_same, %next_value : i1, f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numPrefetched", "prefetched", "Number of loads moved to the previous iteration">
  ];
}

def WarpSplitColumns
    : KernelPass<"warp-split-columns", [HasThreadLayouts, IsPartitioned], []> {
  let summary = "Update tensor memory in parts of its columns";
  let body = [{
    A load from tensor memory, the elementwise ops on it and the stores of their
    results to tensor or shared memory are split by columns. A thread then holds
    a part of a row at a time: a role that rescales outputs needs fewer registers
    than a row has columns (FlashAttention-4's correction). The parts follow each
    other at the last store, before which the loaded stage is not released. A
    chain is left whole if an op combines columns, if another op reads an
    intermediate tile, or if tensor memory is written between the load and the
    last store.

    Before:

    ```mlir
    %o = warp.tmem_load %acc : memref<128x64xf32, #warp.tmem> to tensor<128x64xf32, #warp.thread_rows>
    %by = tile.broadcast %factor : ...
    %scaled = arith.mulf %o, %by : tensor<128x64xf32, #warp.thread_rows>
    warp.tmem_store %scaled to %acc : ...
    ```

    After, the first of two parts:

    ```mlir
    %part = warp.tmem_view %acc from 0 : memref<128x64xf32, #warp.tmem> to memref<128x32xf32, #warp.tmem>
    %o = warp.tmem_load %part : memref<128x32xf32, #warp.tmem> to tensor<128x32xf32, #warp.thread_rows>
    %by = tile.broadcast %factor : ...
    %scaled = arith.mulf %o, %by : tensor<128x32xf32, #warp.thread_rows>
    warp.tmem_store %scaled to %part : ...
    ```
  }];
  let options = [
    Option<"columns", "columns", "int64_t", "16", "Maximum number of columns of a part">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numSplit", "split", "Number of loads split">
  ];
}

def WarpSplitMaskedLoops
    : KernelPass<"warp-split-masked-loops", [BlocksAreLoops],
                 []> {
  let summary = "Split loops over blocks at the bounds of partially masked blocks";
  let body = [{
    A loop with an `scf.if` on `tile.is_partial %iv below %a from %b`, with `a`
    and `b` defined outside the loop, is split into three: before `a`, from `a`
    to `b`, and from `b` on. The condition is constant in each loop, so the
    middle loop runs without the guarded code. The condition may also be on an
    earlier block, `%iv - %n`, as in a pipelined loop. Loop-carried values are
    passed from each loop to the next. Either bound may be absent. A loop that
    is empty by constant bounds is omitted.

    Before:

    ```mlir
    scf.for %j = %from to %to step %c1 {
      %partial = tile.is_partial %j below %a
      scf.if %partial { ... }
    }
    ```

    After:

    ```mlir
    scf.for %j = %from to %a step %c1 {
      scf.if %true { ... }
    }
    scf.for %j = %a to %to step %c1 {
      scf.if %false { ... }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numSplit", "split", "Number of loops split">
  ];
}

def WarpPingPong
    : KernelPass<"warp-ping-pong", [DotsReadMemory, IsOneProgram],
                 []> {
  let summary = "Order the dots of warp groups (ping-pong scheduling)";
  let body = [{
    Encloses dots that are issued without a wait between them in a ping-pong
    section (`warp.begin_turn`, `warp.end_turn`), so that the softmax of one
    warp group overlaps the dots of the others (FlashAttention-3's ping-pong
    scheduling). Applies to plans with `ping_pong` and more than one warp group.

    Before:

    ```mlir
    %s = warp.dot async "s" %q, %k, %zero transpose_b : ...
    %o = warp.dot async "o" %p, %v, %acc : ...
    %scores = warp.dot_wait %s : ...
    ```

    After:

    ```mlir
    %turns = warp.turns : !warp.turns<2>            // at the kernel's start
    ...
    warp.begin_turn %turns : !warp.turns<2>
    %s = warp.dot async "s" %q, %k, %zero transpose_b : ...
    %o = warp.dot async "o" %p, %v, %acc : ...
    warp.end_turn %turns : !warp.turns<2>
    %scores = warp.dot_wait %s : ...
    ```
  }];
  let statistics = [
    Statistic<"numSections", "sections", "Number of ping-pong sections created">
  ];
}

def WarpLowerBallots
    : KernelPass<"warp-lower-ballots", [IsOneProgram],
                 [BallotsAreLowered]> {
  let summary = "Lower tile.if_any to a warp ballot and a branch";
  let body = [{
    `tile.if_any` becomes `warp.any` and an `scf.if` on its result. If the
    condition is a tile that another such branch returns, and that is false if
    the branch is not taken, the ballot moves into that branch: a rarely taken
    branch then costs no second ballot. The branch gets one more result, the
    ballot, or `false` if it is not taken.

    Before:

    ```mlir
    %r = tile.if_any %exceeds init(%acc : tensor<128x32xf32, #tile.reg>) : tensor<128x1xi1, #tile.reg> {
    ^bb0(%x: tensor<128x32xf32, #tile.reg>):
      %y = arith.mulf %x, %factor : tensor<128x32xf32, #tile.reg>
      tile.yield %y : tensor<128x32xf32, #tile.reg>
    }
    ```

    After:

    ```mlir
    %any = warp.any %exceeds : tensor<128x1xi1, #tile.reg>
    %r = scf.if %any -> (tensor<128x32xf32, #tile.reg>) {
      %y = arith.mulf %acc, %factor : tensor<128x32xf32, #tile.reg>
      scf.yield %y : tensor<128x32xf32, #tile.reg>
    } else {
      scf.yield %acc : tensor<128x32xf32, #tile.reg>
    }
    ```
  }];
  let dependentDialects = ["::fovea::warp::WarpDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numBranches", "branches", "Number of tile.if_any ops lowered">,
                    Statistic<"numInside", "inside", "Number of ballots moved into another branch">];
}

include "fovea/Dialect/Warp/Transforms/DotPasses.td"
include "fovea/Dialect/Warp/Transforms/RolePasses.td"

#endif // FOVEA_DIALECT_WARP_TRANSFORMS_PASSES_TD
