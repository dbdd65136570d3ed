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
  let summary = "Make copies asynchronous, with a pipeline each";
  let body = [{
    A copy in a loop gets a buffer of as many stages as the plan says, and a
    pipeline: the stages before the last are filled ahead of the loop, each
    iteration waits for its own stage and fills the one that it will need
    `stages - 1` iterations later. A single stage is filled ahead of the loop,
    too, and for the next iteration where it is released, behind its last reader:
    so copies stand in the order in which their stages are done with. A copy
    outside loops gets a pipeline of one stage; its wait stands before the first
    reader.

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

    After, with two stages; the first block's copy stands ahead of the loop:

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
    Statistic<"numPipelines", "pipelines", "Number of pipelines made">
  ];
}

def WarpDistributeWork
    : KernelPass<"warp-distribute-work", [IsOneProgram],
                 [WorkIsDealt]> {
  let summary = "Make the loop over work a loop of the CTA";
  let body = [{
    `tile.foreach_work` of schedule `static` or `dynamic` becomes an `scf.while`
    whose first round is the CTA's own number; the next is one grid further
    (`static`) or what `warp.next_work` says (`dynamic`). All of the round stands
    in the first region, since each CTA has at least one item.

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
  let statistics = [Statistic<"numLoops", "loops", "Number of loops over work made">];
}

def WarpChainTiles
    : KernelPass<"warp-chain-tiles", [DotsReadMemory, WorkIsDealt, IsOneProgram],
                 []> {
  let summary = "Issue the next tile's first scores with this one's last product";
  let body = [{
    Rotates the loop over work: what a round does before its loop over blocks
    moves to the end of the round before, woven into what that does behind its
    own loop. So the next tile's first scores and the last product of this one
    are in flight together, and this one's output is written under the next
    one's softmax. The last round has no next one and does its end alone.

    For loops that `warp-overlap-dots` made; others are left alone.

    Before, a round of the loop over work:

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

    After, with `chain = 1`; the first tile's scores and softmax stand before the loop:

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
  let summary = "Give each copy and each stream a pipeline, where it stands";
  let body = [{
    For kernels whose copies and dots will be the work of different warps. A
    copy, or a store of a computed tile (`tile.stream`) with the fence behind it,
    gets a buffer of as many stages as the plan says for its name, and a
    pipeline; `warp.producer_acquire` and
    `warp.producer_commit` stand around it, `warp.consumer_wait` before the first
    reader and `warp.consumer_release` behind the last. The position in the ring
    is carried through all loops around the copy; rings of as many stages that go
    on in the same loop have one position, but for those that the plan lets count
    alone (`counts_alone`). What the plan lets come `with`
    another copy is copied beside it and has no pipeline of its own. Nothing else moves: how far the
    copies run ahead is up to the role that will have them.

    A stage that dots in memory form read is given back when they are done
    (`warp.release_after_dots`). So is what they accumulate handed over,
    `warp.commit_after_dots`, and what is stored to tensor memory over an
    accumulator: both are streams of one stage. Who reads an accumulator holds its
    stage until what lies over it is stored. A dot that adds to what the round
    before left has a stage in each round: in it the one before is changed in
    place, perhaps behind a vote, or only taken and given back, and the last one
    is read behind the loop, which must run at least once.

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
    Statistic<"numPipelines", "pipelines", "Number of pipelines made">
  ];
}

def WarpInsertOutputCopies
    : KernelPass<"warp-insert-output-copies", [IsOneProgram],
                 []> {
  let summary = "Send tiles of output through shared memory";
  let body = [{
    For stores that the plan leaves to the copy engine (`copied`), and for those
    that add. Instead of `tile.store`, warps write their
    rows to shared memory, `warp.local_store`, and issue a copy of them,
    `warp.copy_out async`; the copy engine knows the tensor's ends.

    With `output_stages = 1` there is a buffer for it, and `warp.copy_out_wait`
    stands before its next use. With 0 it is the stage of the query whose scores
    are done: the stage is released behind that wait, instead of behind the last
    of its dots. In the end the kernel waits until all is written. Nobody else may
    still read that stage: what reads it are dots of the store's role, whose first
    operand it is, not transposed, so that a warp reads the rows that it stores.
    Elsewhere the store stays as it is, and the plan has no such store any more.

    Left alone is what the copy engine can't write: rows that end before the
    tensor does (packed sequences), folds that don't divide the 16 rows of a
    warp, elements that are not of 16 bits, tensors that need not lie at
    multiples of 16 bytes.

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
    Statistic<"numCopies", "copies", "Number of stores that became copies">
  ];
}

def WarpSplitSoftmax
    : KernelPass<"warp-split-softmax", [DotsReadMemory, IsOneProgram],
                 []> {
  let summary = "Order exponentials around the wait for a product";
  let body = [{
    Where a dot's first operand is computed while the dot that reads the one
    before it is in flight, says what must stand above and what below that dot's
    wait: registers that are read may be overwritten only after it, so the
    operand is rounded below it; what is rounded stays above it, so that it waits
    for as little as possible. In loops, the share of the columns that the plan
    has for the dot's name (`operand_above`) is computed above the wait and the
    others below, beside the first ones' rounding.

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
    ...                                           // both are rounded and joined
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numSplit", "waits", "Number of waits ordered">
  ];
}

def WarpAssignBallotLayouts
    : KernelPass<"warp-assign-ballot-layouts", [IsOneProgram],
                 []> {
  let summary = "Give each lane one of the candidates that a warp votes on";
  let body = [{
    The flags of a `tile.ballot`, and all that they are computed from, get the
    layout `#warp.lanes`: copies of those ops stand before the ballot. It runs
    before any pass that moves values into loops, which could no longer be
    copied.

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
  let statistics = [Statistic<"numVotes", "votes", "Number of votes given a layout">];
}

def WarpAssignRelativePositionLayouts
    : KernelPass<"warp-assign-relative-position-layouts", [IsOneProgram],
                 []> {
  let summary = "Give each warp the diagonals of its rows";
  let body = [{
    The operand of a `tile.diagonals`, and all that it is computed from, get the
    layout `#warp.diagonals`: copies of those ops stand before it. Each warp so
    computes a diagonal once or twice, not once for each score on it, and lanes
    exchange what they made. It runs where `warp-assign-ballot-layouts` does, for
    the same reason.

    Where a stream brings the operand, each lane loads what it needs
    (`#warp.fragment_diagonals`), and nothing is exchanged. What fills the stream
    gets `#warp.lanes`: one warp finds each diagonal once.

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
  let statistics = [Statistic<"numDiagonals", "diagonals", "Number of reads of diagonals given a layout">];
}

def WarpApproximateExp2
    : KernelPass<"warp-approximate-exp2", [DotsReadMemory],
                 []> {
  let summary = "Compute some exponentials on FMA units";
  let body = [{
    The special-function unit gives 16 exponentials a clock and SM; where softmax
    waits for it, a part can be polynomials on FMA units (FlashAttention 4). Of
    each `math.exp2` on f32 that is rounded to 16 bits and multiplied by a dot, in
    this or the next round of a loop, the last columns, in multiples of 8, are computed
    as below: the share that the plan has for the dot's name (`operand_by_fma`).

    ```text
    x' = max(x, -127)                  // keeps NaN; -inf becomes -127
    t  = x' + (1.5 * 2^23 + 127)       // the integer n next to x', plus 127, in
    f  = x' - (t - (1.5 * 2^23 + 127)) // the low bits; f in [-1/2, 1/2]
    p  = c0 + c1 f + c2 f^2 + c3 f^3   // 2^f
    2^x = p * bits(t << 23)            // 2^n; 0 for n = -127
    ```

    The polynomial is the one of degree 3 with the least relative error, 7.5e-5,
    which rounding to bf16 hides (2^-9), and to f16 too (2^-12). What is below
    2^-127 becomes 0, so that a hidden key's weight is exactly 0. Arguments
    are at most 127: weights exceed 1 by at most the `tau` of the recurrence.

    Off by default: on Hopper FMA units are short of register ports while the
    matrix units run, and it costs 2 to 8 %.

    Before:

    ```mlir
    %e = math.exp2 %s : tensor<128x80xf32, #tile.reg>
    %w = arith.truncf %e : tensor<128x80xf32, #tile.reg> to tensor<128x80xbf16, #tile.reg>
    ```

    After, with a share of 25 per cent, which makes 16 of 80 columns:

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
           "Per cent of the columns; negative: what the kernel's plan says">
  ];
  let dependentDialects = ["::fovea::warp::WarpDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let statistics = [
    Statistic<"numApproximated", "approximated", "Number of tiles in parts">
  ];
}

def WarpAssignLayouts
    : KernelPass<"warp-assign-layouts", [BlocksAreLoops, DotsReadMemory],
                 [HasThreadLayouts]> {
  let summary = "Say which thread holds which element";
  let body = [{
    Replaces `#tile.reg` by a layout in all types of the kernel. That is one
    layout for accumulators and what is computed with them, which the plan's
    matrix unit has for the warps that compute. A computed first operand of
    16-bit elements has it, too; for other widths the unit has a layout of its
    own, and a `warp.convert_layout` stands before the dot.

    Where `launch.abi` lists roles, these may have different numbers of warps, so
    a tile has the layout of the role that owns what is done with it: tiles that
    an op joins, or a loop carries, are of one class, and a class is the role's
    whose dots and stores are in it. Fails where two roles with different numbers
    of warps have one tile: it would have to cross through a stream. What is made
    of constants and scalars is made anew for each use first.

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
              "Number of operands that change their layout">
  ];
}

def WarpPrefetchScalars
    : KernelPass<"warp-prefetch-scalars", [BlocksAreLoops],
                 []> {
  let summary = "Read scalars one iteration of a loop ahead";
  let body = [{
    A scalar that an iteration reads from global memory, in its body or in a
    branch of it, is read in the iteration before, behind the products that
    that one issues, and carried over; so the product that starts from it does
    not wait for the memory. Needs indices, and a branch's condition, that follow
    from the loop's index by pure arithmetic. What is read does not change: an
    iteration that does not exist, or that would not take the branch, reads
    nothing. Where an index is clamped, so that the place may stay the same, the
    loop carries it too and reads again only where it moves. A loop that writes
    global memory is left alone.

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

    After; what the first iteration needs is read before the loop:

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
    Statistic<"numPrefetched", "prefetched", "Number of reads moved ahead">
  ];
}

def WarpSplitMaskedLoops
    : KernelPass<"warp-split-masked-loops", [BlocksAreLoops],
                 []> {
  let summary = "Split loops over blocks where partial ones end";
  let body = [{
    A loop with an `scf.if` under `tile.is_partial %iv below %a from %b`, with `a`
    and `b` defined outside, becomes three: before `a`, from `a` to `b`, and from
    `b` on. The answer is a constant in each, so the middle one runs without the
    code it guards. The question may be about a block that the loop, pipelined,
    counts ahead of: `%iv - %n`. Values that the loop carries go from one to the next. Either
    bound may be missing, and a loop that constants show to be empty is left out.

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
  let summary = "Let warp groups take turns at the matrix units";
  let body = [{
    Puts `warp.begin_turn` before and `warp.end_turn` behind dots that are issued
    without a wait between them, so that one warp group's softmax runs under the
    others' dots (FlashAttention 3's ping-pong scheduling). For plans with
    `ping_pong` and more than one warp group.

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
    Statistic<"numTurns", "turns", "Number of turns made">
  ];
}

def WarpLowerBallots
    : KernelPass<"warp-lower-ballots", [IsOneProgram],
                 [VotesAreBranches]> {
  let summary = "Make tile.if_any a vote and a branch";
  let body = [{
    `tile.if_any` becomes `warp.any` and an `scf.if` on it. Where the condition
    is a tile that another such branch gives, and that is false if that branch
    is not taken, the vote moves into it: a branch seldom taken costs no second
    vote. That branch then has one more result, the vote, or `false` where it is not taken.

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
  let statistics = [Statistic<"numBranches", "branches", "Number of votes made branches">,
                    Statistic<"numInside", "inside", "Number of votes moved into a branch">];
}

include "fovea/Dialect/Warp/Transforms/DotPasses.td"
include "fovea/Dialect/Warp/Transforms/RolePasses.td"

#endif // FOVEA_DIALECT_WARP_TRANSFORMS_PASSES_TD
