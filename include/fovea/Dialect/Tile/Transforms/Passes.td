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

def LowerShares
    : KernelPass<"tile-lower-shares", [],
                 [JoinsAreStores]> {
  let summary = "Lower tile.join to stores, arrivals and loops";
  let body = [{
    An item with one piece executes the region `whole`. Otherwise the CTA stores
    its state and arrives, and the CTA that arrives last loads the states of all
    pieces and combines them in the order of their blocks. It loads `unroll`
    pieces, or fewer of many elements, before it combines the first of them, so
    that their latencies overlap; that does not change the order.

    Before:

    ```mlir
    tile.join "o" (%l) part(%part of %parts at %cta) rows(%n) memory(%memory) counters(%counters) step 8
      : tensor<64x16xf32, #tile.reg> through memref<?x64x16xf32>, memref<256xi32>
      combine(%a: tensor<8x16xf32, #tile.reg>, %b: tensor<8x16xf32, #tile.reg>) { ... }
      whole(%x: tensor<64x16xf32, #tile.reg>) { ... }
      each(%row: index, %x: tensor<8x16xf32, #tile.reg>) { ... }
    ```

    After:

    ```mlir
    %is_whole = arith.cmpi eq, %parts, %c1 : index
    scf.if %is_whole {
      ...                                             // whole
    } else {
      tile.store "o" %l, %memory[%slot, %c0, %c0] limit(%n) dims [1, 2] : ...
      %is_last = tile.arrive "o" %counters[%cta] of %parts : memref<256xi32>
      scf.if %is_last {
        scf.for %row = %c0 to %n step %c8 {
          %first = tile.load "o" %memory[%first_slot, %row, %c0] dims [1, 2] : ...
          %sum = scf.for %p = %c1 to %parts step %c1 iter_args(%a = %first) { ... } // combine
          ...                                         // each
        }
      }
    }
    ```
  }];
  let options = [
    Option<"unroll", "unroll", "int64_t", "8",
           "Most pieces that are loaded before the first of them is combined">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numJoins", "num-joins", "Number of joins lowered">];
}

def FuseOnlineSoftmax
    : KernelPass<"tile-fuse-online-softmax", [JoinsAreStores],
                 [SoftmaxIsLoops]> {
  let summary = "Lower tile.softmax_sum to a loop over key blocks";
  let body = [{
    Lowers `tile.softmax_sum` to `tile.for_blocks` and inlines its regions. The
    option `recurrence` selects the algorithm of the loop. All algorithms
    compute the same state up to rounding and guarantee:

    - a row whose scores are all -inf has `m = -inf`, `l = 0` and `acc = 0`;
    - no -inf is subtracted from -inf;
    - a row with a NaN score results in NaN.

    | recurrence | loop-carried values |
    |---|---|
    | `three-pass` | three loops: row maximum; row sum; accumulator |
    | `normalized` | row maximum, row sum, accumulator divided by the sum |
    | `deferred` | row maximum, partial row sums, accumulator |
    | `conditional` | softmax offset at most `tau` below the row maximum, partial row sums, accumulator |
    | `lazy` | softmax offset in units of the score, `-c` times the offset, integer threshold for a new offset, partial row sums, accumulator |

    With `c = scale * log2(e)`, each element costs one FMA and one exp2:
    `exp2(s * c - m)`. All recurrences except `lazy` carry the offset in base 2.

    `lazy` computes a row maximum only if a score exceeds the offset `m` by more
    than `tau`, that is if `s > t` with `t = m + tau / c`. Non-negative floats
    have the same order as their bits, and negative floats are smaller as
    integers. The pass therefore compares the integer maximum of the scores'
    bits with `bits(t) + 1`. For negative `t` the threshold is the smallest
    integer, so every block computes its maximum. The maximum, the new offset
    and the rescaling factor are computed in a `tile.if_any`. A second, later
    `tile.if_any` rescales the accumulator, so that the target can compute
    probabilities before it waits for the accumulator.

    If the plan sends the factor to another role (stream `factor`, `staged`),
    `conditional` computes it in every iteration; it is exactly 1 in rows whose
    offset does not change. The partial sums are multiplied by the factor as in
    `deferred`. The accumulator is rescaled in a `tile.if_any` if the received
    factor is not 1.

    If the scores are bounded, for example by a soft cap (`cap * tanh(s / cap)`)
    or a clamp, `deferred`, `conditional` and `lazy` use one fixed offset for
    all rows. The first block that a row sees adds a fraction to it, so that the
    largest probability of that block is a power of two. The loop computes no
    other maxima and rescales nothing. The probabilities, down to 2^-24 of the
    largest one of a row, must be normal numbers of the type that they are
    rounded to, and none may exceed 2^48. If `c * s` is between `a` and `b`, the
    offset is the number closest to `(a + b) / 2` in the interval from `b - 48`
    to `a + 102` for bfloat16, and from `b - 15` to `a - 10` for float16. Caps
    may therefore be up to 52 for bfloat16 and 1.7 for float16.

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

    If the plan says `sum_by_dot`, the recurrences `deferred`, `conditional` and
    `lazy` replace the additions of the row sum by a dot: the loop carries
    `l8 = dot(p, ones, l8)`, which has eight equal columns and is rescaled with
    the accumulator. `l` is then the sum of the rounded probabilities. The other
    recurrences, block sizes that are not multiples of 8, and sums with a
    `weights` region do not support this. In these cases the pass reports an
    error if the field is user-specified; otherwise it emits a remark and
    changes the plan.

    `tile.softmax_merge` and `tile.softmax_finish` are expanded to elementwise
    ops.
  }];
  let options = [
    Option<"recurrence", "recurrence", "::fovea::tile::RecurrenceKind",
           "::fovea::tile::kScheduleRecurrence",
           "Recurrence of the loop", "::fovea::tile::recurrenceValues()">,
    Option<"tau", "tau", "double", "-1.0",
           "With recurrence=conditional or lazy: growth of the maximum, in "
           "powers of two, that does not rescale the state; negative: the value "
           "of the kernel's plan, or 8 without a plan">,
    Option<"partialSumWidth", "partial-sum-width", "int64_t", "8",
           "Columns of the loop-carried partial row sums; 1 if this does not "
           "divide the block size">,
    Option<"fixedReference", "fixed-reference", "bool", "true",
           "With recurrence=deferred, conditional or lazy: use one softmax "
           "offset for all rows if the scores are bounded">
  ];
  let statistics = [
    Statistic<"numFused", "num-fused", "Number of softmax sums lowered">,
    Statistic<"numFixed", "num-fixed", "Number of softmax sums with a fixed softmax offset">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

def StreamRelativePositions
    : KernelPass<"tile-stream-relative-positions", [], []> {
  let summary = "Compute relative-position values in a helper warp";
  let body = [{
    Relative-position values, for example elements of a table indexed by
    `kv - q`, depend on scalars only: a few hundred values per block. If each
    consumer warp loads the values of its own rows, it waits for memory and
    spends registers on addresses. If the plan has `staged` streams
    `diagonals.0`, `diagonals.1` and so on, the operands of `tile.diagonals`
    pass through these streams, one stream each. The role that owns the streams
    runs ahead by their number of stages. Operands without a stream are computed
    by the consumers.

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

    Integer operands, which are the addresses of relative-position gradients,
    stay with the role that adds: a stream gives no speedup there. An operand
    also stays if it depends on a tile that is not a single row computed from
    scalars and from tensors that the kernel only reads.
  }];
  let statistics = [
    Statistic<"numStreams", "num-streams", "Number of streams of relative-position values">
  ];
}

def InterleaveQueryTiles
    : KernelPass<"tile-interleave-query-tiles", [SoftmaxIsLoops, BlocksAreLoops],
                 []> {
  let summary = "Split the rows of a CTA's tile and interleave the parts";
  let body = [{
    If the plan has several `row_tiles`, the pass splits the rows of the
    kernel's dots into that many parts. Ops on these rows are cloned, once per
    part: loads, dots, stores, loop-carried values, and scalars that depend on
    `tile.held_rows`, which returns the rows of the part. The parts share the
    loops, their bounds and the other operands of the dots. Each part therefore
    masks its own rows, and all parts iterate over the same blocks. The part's
    index is appended to names: `s` becomes `s.0` and `s.1`.

    The row dimension of each tile is inferred from the results of the dots and
    propagated through arithmetic, dots and loops. The pass reports an error if
    dots have different row dimensions, or if a dot or a reduction sums over the
    rows.

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
           "Number of parts; negative: the value of the kernel's plan">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numInterleaved", "num-interleaved", "Number of kernels whose rows were split">
  ];
}

def LowerBlocks
    : KernelPass<"tile-lower-blocks", [],
                 [BlocksAreLoops]> {
  let summary = "Lower tile.for_blocks to scf.for";
  let body = [{
    A range of blocks becomes a loop over their first elements. Blocks computed
    by a `visit` region become a loop over the iterations of that region, which
    also carries the region's scalars. The partial flag becomes
    `tile.is_partial` of the induction variable, so that
    `warp-split-masked-loops` can split the loop at the bounds of full blocks.

    `descending` becomes a loop over the block index `%i = 0, 1, ...` that runs
    at least once. With `last` the first element of the last block, `%j` is
    `last - %i * step`, and `%partial` is `tile.is_partial %i below %a from %b`
    for block indices `a`, at least 1, and `b`. `b` is omitted if `full_lower`
    equals `lower`. `at_least_once` becomes the same loop with `%j` equal to
    `%lb + %i * step`.

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

    With `descending`, the same loop becomes (`%last` is the first element of the
    last block):

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
  let statistics = [Statistic<"numLowered", "num-lowered", "Number of tile.for_blocks lowered">];
}

def LowerWork
    : KernelPass<"tile-lower-work", [],
                 []> {
  let summary = "Lower tile.foreach_work if each CTA has one work item";
  let body = [{
    Replaces a `tile.foreach_work` with `schedule(single)` by its body, with the
    CTA's index as the item. Other schedules remain for `warp-distribute-work`,
    because the warps of a CTA must agree on the next item. `static` and
    `dynamic` are an error if the plan has no roles.

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
  let statistics = [Statistic<"numInlined", "num-inlined", "Number of tile.foreach_work lowered">];
}

def SinkCoordinates
    : KernelPass<"tile-sink-coordinates", [],
                 []> {
  let summary = "Sink coordinates, broadcasts and constants to their uses";
  let body = [{
    CSE and loop-invariant code motion hoist ops out of loops. For a tile this
    means that registers hold it during the whole loop. This pass sinks tiles
    that are cheaper to recompute than to keep: `tile.iota`, `tile.ramp`,
    `tile.broadcast`, splat constants, and integer arithmetic and comparisons on
    these. Each block that uses such a tile gets one copy, before the first use.
    Loads, dots, reductions and all other arithmetic stay.

    The pass runs after the last canonicalisation at the tile level, which would
    hoist constants again.

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
    Statistic<"numSunk", "num-sunk", "Number of copies created in other blocks">
  ];
}

#endif // FOVEA_DIALECT_TILE_TRANSFORMS_PASSES_TD
