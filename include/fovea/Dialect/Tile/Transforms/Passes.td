//===- Passes.td - Passes of the tile dialect --------------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define FOVEA_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "fovea/Dialect/Tile/IR/KernelFacts.td"

include "mlir/Pass/PassBase.td"

def FuseOnlineSoftmax
    : KernelPass<"tile-fuse-online-softmax", [],
                 [SoftmaxIsLoops]> {
  let summary = "Write tile.softmax_sum as a loop over key blocks";
  let body = [{
    Rewrites `tile.softmax_sum` into `tile.for_blocks`, with its regions inlined. Which
    algorithm the loop runs is the option `recurrence`; all give the same state
    up to rounding, and keep these promises: a row whose scores are all -inf
    ends with `m = -inf`, `l = 0`, `acc = 0`; no -inf is subtracted from itself;
    a row with a NaN score ends with NaN.

    | recurrence | loop carries |
    |---|---|
    | `three-pass` | the maximum; then the sum; then the weighted sum |
    | `normalized` | maximum, sum, accumulator divided by the sum |
    | `deferred` | maximum, partial sums, accumulator |
    | `conditional` | reference at most `tau` below the maximum, partial sums, accumulator |
    | `lazy` | reference as a score, `-c` times it, the bits above which a score calls for a new one, partial sums, accumulator |

    With `c = scale * log2(e)`, a loop step computes `exp2(s * c - m)`, one FMA
    and one exp2 an element; all but `lazy` carry maxima in base 2.

    `lazy` computes a maximum only where it needs one. A reference `m` serves
    while no score exceeds `t = m + tau / c`. Floats that are not negative order
    as their bits do, and negative ones lie below them as integers, so integer
    maxima of the scores' bits are compared with `bits(t) + 1`. Where `t` is
    negative, the least integer takes its place: then every block computes its
    maximum. That, the new reference and the factor stand in a `tile.if_any`;
    the accumulator is rescaled in another, later one, so that a target may
    compute weights before it waits for the accumulator.

    Where the plan has the factor cross to another role (the stream
    `factor`, `staged`), `conditional` finds it in every step, exactly 1 in rows
    whose reference stays. The partial sums are multiplied by it as with
    `deferred`; the accumulator is rescaled in a `tile.if_any` whose condition is
    that the factor, as it was received, isn't 1.

    Where the scores are bounded by themselves, as those under a soft cap are
    (`cap * tanh(s / cap)`), or clamped, all but the first two need no maximum: one
    reference serves all rows from the start, nothing is rescaled, and the
    loop carries partial sums and accumulator alone. The weights must fit the
    type that they are rounded to, 24 powers of two below the largest of each row
    too, and none may exceed 2^48: with `c` times the scores from `a` to `b`, the
    reference is what is next to `(a + b) / 2` from `b - 48` to `a + 102` for
    bfloat16, and from `b - 15` to `a - 10` for float16. So caps may be up to 52,
    or 1.7.

    Before:

    ```mlir
    %m, %l, %acc = tile.softmax_sum %lb to %ub step 64 full(%fb, %fe) scale(0.125)
      scores(%j: index, %partial: i1) { ... tile.yield %s }
      values(%j: index) { ... tile.yield %v } : ...
    ```

    After, with `recurrence=deferred`:

    ```mlir
    %r:3 = tile.for_blocks %lb to %ub step 64 full(%fb, %fe) carry(%-inf, %zeros, %zeros : ...)
      do(%j: index, %partial: i1, %m0: ..., %l0: ..., %acc0: ...) {
        ...                                    // %s, the scores
        // m1 = max(m0, max(s) * c); ref = m1 == -inf ? 0 : m1
        // p = exp2(fma(s, c, -ref)); factor = exp2(m0 - ref)
        // l1 = l0 * factor + partial sums of p; acc = acc0 * factor
        ...                                    // %v, the values
        %acc1 = tile.dot %p, %v, %acc
        tile.yield %m1, %l1, %acc1
      }
    ```

    Where the plan says `sum_by_dot`, `deferred`, `conditional` and `lazy`
    do not add up weights but carry `l8 = dot(p, ones, l8)`, eight columns that
    are the same, rescaled with the accumulator. So `l` is the sum of weights as
    rounded for the product, without an addition a weight. Other recurrences,
    blocks of no multiple of 8 keys and sums with `weights` of their own have no
    such product: an error if the field was asked for, else a remark, and the
    plan goes without.

    `tile.softmax_merge` and `tile.softmax_finish` become elementwise ops.
  }];
  let options = [
    Option<"recurrence", "recurrence", "::fovea::tile::RecurrenceKind",
           "::fovea::tile::kScheduleRecurrence",
           "Algorithm of the loop", "::fovea::tile::recurrenceValues()">,
    Option<"tau", "tau", "double", "-1.0",
           "With recurrence=conditional or lazy: how far, in powers of two, the "
           "maximum may grow before the state is rescaled; negative: what the "
           "kernel's plan says, 8 without one">,
    Option<"partialSumWidth", "partial-sum-width", "int64_t", "8",
           "Columns of the tile of partial sums that the loop carries; 1 where "
           "it does not divide the block">,
    Option<"fixedReference", "fixed-reference", "bool", "true",
           "With recurrence=deferred, conditional or lazy: one reference for all "
           "rows where bounds of the scores allow it">
  ];
  let statistics = [
    Statistic<"numFused", "num-fused", "Number of softmax sums fused">,
    Statistic<"numFixed", "num-fixed", "Number of those with a fixed reference">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

def AddByDot
    : KernelPass<"tile-add-by-dot", [],
                 []> {
  let summary = "Start dots from what is added to them";
  let body = [{
    Where the plan says `adds_to_summand`, a sum of a dot that starts at zero,
    and has no other use, and another tile becomes a dot that starts from the
    other tile; so do such sums in both branches of an `scf.if`. Accumulators
    must be set to something in any case, so that the addition costs nothing;
    and what it needs is made before the dot is issued, not between the dot and
    its uses, where warps wait for one another. Sums round in another order than
    before, at each step of the product: the summand must be small, which is not
    checked here. `attn-to-tile` starts attention's products by itself where a
    progression is small enough; such dots are left as they are.

    A dot times a number, the same for all elements, and numbers by distance
    (`tile.diagonals`) becomes a dot that starts from those, divided by the number
    where they are made, and is multiplied behind; what is added next is added
    together with that. The number must be within 2^-64 and 2^64.

    Before:

    ```mlir
    %s = tile.dot %q, %k, %zero transpose_b : ...
    %x = arith.addf %s, %bias : tensor<128x128xf32, #tile.reg>
    ```

    After:

    ```mlir
    %x = tile.dot %q, %k, %bias transpose_b : ...
    ```

    Before:

    ```mlir
    %b = tile.diagonals %table : tensor<1x256xf32, #tile.reg> to tensor<128x128xf32, #tile.reg>
    %x = math.fma %s, %scale, %b : tensor<128x128xf32, #tile.reg>
    %e = arith.addf %x, %summand : tensor<128x128xf32, #tile.reg>
    ```

    After:

    ```mlir
    %divided = arith.mulf %table, %one_by_scale : tensor<1x256xf32, #tile.reg>
    %b = tile.diagonals %divided : tensor<1x256xf32, #tile.reg> to tensor<128x128xf32, #tile.reg>
    %s = tile.dot %q, %k, %b transpose_b : ...
    %e = math.fma %s, %scale, %summand : tensor<128x128xf32, #tile.reg>
    ```
  }];
  let statistics = [
    Statistic<"numFolded", "num-folded", "Number of sums that dots start from">
  ];
}

def StreamRelativePositions
    : KernelPass<"tile-stream-relative-positions", [], []> {
  let summary = "Let another role find what tiles of diagonals are made of";
  let body = [{
    Numbers by distance, such as a table's, are found from scalars alone, a few
    hundred for a block; but each warp that computes would find those of its own
    rows, wait for memory, and spend registers on addresses. Where the plan has
    streams `diagonals.0`, `diagonals.1` and so on that are `staged`, the
    operands of `tile.diagonals` come through them, one stream each, as far as
    there are streams: the role that owns them is ahead by their stages. Who
    computes finds the others.

    Before:

    ```mlir
    %d = tile.gather %table[%head, %distances] : ... to tensor<1x192xf32, #tile.reg>
    %b = tile.diagonals %d : tensor<1x192xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
    ```

    After:

    ```mlir
    %d = tile.gather %table[%head, %distances] : ... to tensor<1x192xf32, #tile.reg>
    %s = tile.stream "diagonals.0" %d : tensor<1x192xf32, #tile.reg>
    %b = tile.diagonals %s : tensor<1x192xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
    ```

    Places of sums by distance, tiles of integers, stay with who adds: brought to
    it, they gained nothing. Tiles stay, too, that are made of others than rows, of
    scalars and of tensors that the kernel only reads.
  }];
  let statistics = [
    Statistic<"numStreams", "num-streams", "Number of streams of diagonals">
  ];
}

def InterleaveQueryTiles
    : KernelPass<"tile-interleave-query-tiles", [SoftmaxIsLoops, BlocksAreLoops],
                 []> {
  let summary = "Work on parts of a tile's rows in turn";
  let body = [{
    Where the plan has several `row_tiles`, the rows of the kernel's dots are
    parted, and whatever has to do with rows there is once for each part, side by
    side: loads, dots, stores, what loops carry, and scalars that depend on
    `tile.held_rows`, which says a part's own rows. What the parts share, loops,
    their bounds and the other operands of dots, stays one. So each part masks
    what its own rows need, and all visit the same blocks. Names get the part's
    number: `s` becomes `s.0` and `s.1`.

    Which dimension of which tile is the rows follows from the program: that of
    the dots' results, and what arithmetic, dots and loops join with it. It is an
    error if dots differ in their rows, or if a dot or a reduction sums over them.

    Before, with two parts:

    ```mlir
    %q = tile.load "q" %Q[%i, %c0] dims [0, 1] : ... to tensor<256x64xbf16, #tile.reg>
    scf.for %j = ... {
      %k = tile.load "k" %K[%j, %c0] dims [0, 1] : ... to tensor<128x64xbf16, #tile.reg>
      %s = tile.dot "s" %q, %k, %zero transpose_b : ...
    ```

    After:

    ```mlir
    %q0 = tile.load "q.0" %Q[%i, %c0] dims [0, 1] : ... to tensor<128x64xbf16, #tile.reg>
    %i1 = arith.addi %i, %c128 : index
    %q1 = tile.load "q.1" %Q[%i1, %c0] dims [0, 1] : ... to tensor<128x64xbf16, #tile.reg>
    scf.for %j = ... {
      %k = tile.load "k" %K[%j, %c0] dims [0, 1] : ... to tensor<128x64xbf16, #tile.reg>
      %s0 = tile.dot "s.0" %q0, %k, %zero transpose_b : ...
      %s1 = tile.dot "s.1" %q1, %k, %zero transpose_b : ...
    ```
  }];
  let options = [
    Option<"parts", "parts", "int64_t", "-1",
           "How many; negative: what the kernel's plan says">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numInterleaved", "num-interleaved", "Number of kernels changed">
  ];
}

def LowerBlocks
    : KernelPass<"tile-lower-blocks", [],
                 [BlocksAreLoops]> {
  let summary = "Make loops over blocks scf.for";
  let body = [{
    A range of blocks becomes a loop over their first elements. Blocks that are found
    become a loop over the visits, which carries what these carry. Whether a
    block is partial is `tile.is_partial` of the induction variable, so that
    `warp-split-masked-loops` can split the loop at the bounds of full blocks.

    `descending` gives a loop over the numbers `%i` of blocks, from 0, that runs at
    least once; with `last` the first element of the last block, `%j` is `last - %i *
    step`, and `%partial` is `tile.is_partial %i below %a from %b` for numbers of blocks
    `a`, at least 1, and `b`, which is left out where `full_lower` is `lower`.
    `at_least_once` gives such a loop, too, with `%j` as `%lb + %i * step`.

    Before:

    ```mlir
    !sums = tensor<128x64xf32, #tile.reg>
    %sum = tile.for_blocks %lb to %ub step 64 full(%fb, %fe) carry(%zero : !sums)
      do(%j: index, %partial: i1, %acc: !sums) {
        %k = tile.load "k" %K[%j, %c0] dims [0, 1] : memref<?x64xbf16> to tensor<64x64xbf16, #tile.reg>
        ...
        tile.yield %next : !sums
      }
    ```

    After:

    ```mlir
    !sums = tensor<128x64xf32, #tile.reg>
    %c64 = arith.constant 64 : index
    %sum = scf.for %j = %lb to %ub step %c64 iter_args(%acc = %zero) -> (!sums) {
      %partial = tile.is_partial %j below %fb from %fe
      %k = tile.load "k" %K[%j, %c0] dims [0, 1] : memref<?x64xbf16> to tensor<64x64xbf16, #tile.reg>
      ...
      scf.yield %next : !sums
    }
    ```

    The same loop `descending` becomes, with `%last` the first element of the last block:

    ```mlir
    !sums = tensor<128x64xf32, #tile.reg>
    %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %zero) -> (!sums) {
      %rows = arith.muli %i, %c64 : index
      %j = arith.subi %last, %rows : index
      %partial = tile.is_partial %i below %a from %b
      ...
      scf.yield %next : !sums
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of loops over blocks lowered">];
}

def LowerWork
    : KernelPass<"tile-lower-work", [],
                 []> {
  let summary = "Replace tile.foreach_work where each CTA has one item";
  let body = [{
    A `tile.foreach_work` with `schedule(single)` becomes its body, the item the
    CTA's number. Others stay, for passes that know how a kernel's warps agree
    on the next item; they are an error where the plan has no roles.

    Before:

    ```mlir
    tile.foreach_work %w to %count schedule(single) {
      %row = arith.muli %w, %c128 : index
      ...
    }
    ```

    After:

    ```mlir
    %w = gpu.block_id x
    %row = arith.muli %w, %c128 : index
    ...
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
  let statistics = [Statistic<"numInlined", "num-inlined", "Number of items of work inlined">];
}

def SinkCoordinates
    : KernelPass<"tile-sink-coordinates", [],
                 []> {
  let summary = "Compute coordinates, broadcasts and constants where they are used";
  let body = [{
    Common subexpressions and loop-invariant code are moved out of loops, which
    for a tile means that registers hold it throughout the loop. This pass
    reverses that for tiles that are cheaper to make than to keep: `tile.iota`,
    `tile.broadcast`, splat constants, and sums and differences of these. Each
    block that uses one gets its own copy, before the first use; a block never
    has two. Loads, dots, reductions and all other arithmetic stay.

    Runs after the last canonicalisation of the tile level, which would move
    constants back.

    Before:

    ```mlir
    %w = tile.broadcast %m : tensor<128x1xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
    scf.for %j = %lb to %ub step %c64 {
      ...
      %x = arith.subf %s, %w : tensor<128x64xf32, #tile.reg>
    ```

    After:

    ```mlir
    scf.for %j = %lb to %ub step %c64 {
      ...
      %w = tile.broadcast %m : tensor<128x1xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
      %x = arith.subf %s, %w : tensor<128x64xf32, #tile.reg>
    ```
  }];
  let statistics = [
    Statistic<"numSunk", "num-sunk", "Number of copies made in other blocks">
  ];
}

#endif // FOVEA_DIALECT_TILE_TRANSFORMS_PASSES_TD
