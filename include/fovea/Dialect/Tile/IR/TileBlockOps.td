//===- TileBlockOps.td - Loops over key blocks -------------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_TILEBLOCKOPS_TD
#define FOVEA_DIALECT_TILE_IR_TILEBLOCKOPS_TD

include "fovea/Dialect/Tile/IR/TileBase.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_ForBlocksOp : Tile_Op<"for_blocks", [
    SingleBlock, RecursiveMemoryEffects, AttrSizedOperandSegments]> {
  let summary = "loop over blocks of a dimension";
  let description = [{
    Runs its body once per block `j = lower, lower + step, ...` with
    `j < upper`. The body's arguments are the block's first element `j`, a flag
    that tells whether the block is *partial*, and the loop-carried values,
    initialised from `carry`. The body yields the next loop-carried values; the
    results are their final values.

    A block is partial if `j < full_lower` or `j >= full_upper`. Only partial
    blocks may need masking.

    With `descending` the loop iterates from the last block to the first, and at
    least once. Its first iteration is always partial. If the range is empty,
    the only iteration has `j = lower`. `at_least_once` gives the same
    guarantees for ascending order. `lower` must not be negative.

    In a second form, the `visit` region computes the blocks. It runs for
    `n = 0, 1, ..., count - 1`. Its arguments are `n` and loop-carried scalars,
    initialised from `init`; it yields the block's first element and the next
    scalars. A block is partial if `n < masked`.

    The op keeps the masked and unmasked ranges and the iteration order
    explicit, so that later passes need not recover them from a loop's
    arithmetic. `tile-fuse-online-softmax` creates it and `tile-lower-blocks`
    lowers it to `scf.for`.

    Examples:

    ```mlir
    %m, %acc = tile.for_blocks %lb to %ub step 64 descending full(%fb, %fe)
      carry(%m0, %acc0 : tensor<128x1xf32, #tile.reg>, tensor<128x64xf32, #tile.reg>)
      do(%j: index, %partial: i1, %mj: tensor<128x1xf32, #tile.reg>, %accj: tensor<128x64xf32, #tile.reg>) {
        ...
        tile.yield %m1, %acc1 : tensor<128x1xf32, #tile.reg>, tensor<128x64xf32, #tile.reg>
      }
    ```

    ```mlir
    %sum = tile.for_blocks blocks %count masked(%masked) init(%w : i32) step 64
      carry(%zero : tensor<128x1xf32, #tile.reg>)
      visit(%n: index, %word: i32) {
        ...
        tile.yield %first, %next : index, i32
      }
      do(%j: index, %partial: i1, %sumj: tensor<128x1xf32, #tile.reg>) {
        ...
        tile.yield %more : tensor<128x1xf32, #tile.reg>
      }
    ```
  }];
  let arguments = (ins
    Arg<Optional<Index>, "the first element of the first block; not negative">:$lower,
    Arg<Optional<Index>, "the end of the range, exclusive for a block's first element">:$upper,
    Arg<Optional<Index>, "blocks that start below it are partial">:$fullLower,
    Arg<Optional<Index>, "blocks that start at or above it are partial">:$fullUpper,
    Arg<Optional<Index>, "number of iterations of `visit`">:$count,
    Arg<Optional<Index>, "number of leading blocks that are partial">:$masked,
    Arg<Variadic<AnyType>, "initial values of the scalars that `visit` carries; uniform">:$inits,
    Arg<Variadic<AnyType>, "initial loop-carried values">:$carried,
    Arg<I64Attr, "block size, in elements">:$step,
    Arg<UnitAttr, "iterates from the last block to the first, at least once">:$descending,
    Arg<UnitAttr, "iterates from the first block to the last, at least once">:$atLeastOnce);
  let results = (outs Res<Variadic<AnyType>, "final loop-carried values">:$results);
  let regions = (region
    Described<SizedRegion<1>, "processes one block; arguments: its first element, the partial flag, the loop-carried values">:$body,
    Described<AnyRegion, "computes the first element of block `n`; empty if the blocks are a range">:$visit);
  let extraClassDeclaration = [{
    /// True if the `visit` region computes the blocks; false for a range.
    bool isVisiting() { return !getVisit().empty(); }
    /// True if the loop runs at least once and its first block is partial.
    bool runsAtLeastOnce() { return getDescending() || getAtLeastOnce(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_IsPartialOp : Tile_Op<"is_partial", [
    Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "tells whether a block of a loop is partial";
  let description = [{
    True if `block < first` or `block >= end`, as signed integers. At least one
    bound must be present; a missing bound is not checked.

    The op marks the partial blocks at the start and at the end of a loop over
    blocks. `tile-lower-blocks` creates it with the loop's induction variable as
    `block`, and `warp-split-masked-loops` splits the loop at its bounds. In a
    loop that is not split it becomes two comparisons.

    Example:

    ```mlir
    %partial = tile.is_partial %n below %first from %end
    ```
  }];
  let arguments = (ins
    Arg<Index, "the block's first element">:$block,
    Arg<Optional<Index>, "blocks below it are partial">:$first,
    Arg<Optional<Index>, "blocks at or above it are partial">:$end);
  let results = (outs Res<I1, "true if the block is partial">:$result);
  let assemblyFormat = "$block (`below` $first^)? (`from` $end^)? attr-dict";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // FOVEA_DIALECT_TILE_IR_TILEBLOCKOPS_TD
