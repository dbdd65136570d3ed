//===- TileBlockOps.td - Loops over blocks of keys ---------*- tablegen -*-===//
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
  let summary = "a loop over blocks";
  let description = [{
    Runs its body for each block `j = lower, lower + step, ...` below `upper`.
    The body gets the block's first element `j`, whether the block is *partial*,
    and what the loop carries, first the values of `carry`; it yields what to
    carry on. The results are what is carried in the end.

    A block is partial if `j < full_lower` or `j >= full_upper`: only there may
    the body need a mask. With `descending`, blocks are visited from the last to the
    first, the block visited first is always partial, and it is visited even if
    there is no block below `upper`: then `j` is `lower`. So such a loop runs at
    least once. With `at_least_once` the same holds for blocks from the first to
    the last. `lower` is not negative.

    In a second form the blocks are not those of a range but what `visit` says:
    for `n = 0, 1, ...` below `count`, `visit` gets `n` and values that go from
    block to block, first those of `init`, and yields the block's first element
    and the next of these values. A block is partial if `n < masked`.

    What masks, bounds and their order are to a loop is said here once. Written by
    `tile-fuse-online-softmax`, made an `scf.for` by `tile-lower-blocks`.

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
    Arg<Optional<Index>, "the end of the range: blocks start below it">:$upper,
    Arg<Optional<Index>, "blocks that start below it are partial">:$fullLower,
    Arg<Optional<Index>, "blocks that start at or above it are partial">:$fullUpper,
    Arg<Optional<Index>, "how many blocks `visit` gives">:$count,
    Arg<Optional<Index>, "how many of these blocks, the first ones, are partial">:$masked,
    Arg<Variadic<AnyType>, "what `visit` carries, at first: uniform scalars">:$inits,
    Arg<Variadic<AnyType>, "what the loop carries, at first">:$carried,
    Arg<I64Attr, "a block's extent, in elements">:$step,
    Arg<UnitAttr, "visits the last block first, and at least one">:$descending,
    Arg<UnitAttr, "visits the first block first, and at least one">:$atLeastOnce);
  let results = (outs Res<Variadic<AnyType>, "what the loop carries in the end">:$results);
  let regions = (region
    Described<SizedRegion<1>, "works on one block: its first element, whether it is partial, what is carried">:$body,
    Described<AnyRegion, "gives a block's first element by its number; empty: the blocks are a range">:$visit);
  let extraClassDeclaration = [{
    /// The blocks are those of a region, not of a range.
    bool isVisiting() { return !getVisit().empty(); }
    /// One block is visited in any case, and the first one is partial.
    bool runsAtLeastOnce() { return getDescending() || getAtLeastOnce(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_IsPartialOp : Tile_Op<"is_partial", [
    Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "whether a loop's block is one that masks apply to";
  let description = [{
    True if `block < first` or `block >= end`, signed; a bound that isn't there
    says nothing, and there is at least one.

    It says of a loop over blocks where the partial ones are, at its start and at
    its end, for as long as the loop is one: `tile-lower-blocks` writes it with
    the loop's induction variable as `block`, and `warp-split-masked-loops` parts
    the loop there. In a loop that stays whole, it is two compares.

    Example:

    ```mlir
    %partial = tile.is_partial %n below %first from %end
    ```
  }];
  let arguments = (ins
    Arg<Index, "the block's first element">:$block,
    Arg<Optional<Index>, "blocks below it are partial">:$first,
    Arg<Optional<Index>, "blocks at or above it are partial">:$end);
  let results = (outs Res<I1, "whether the block is partial">:$result);
  let assemblyFormat = "$block (`below` $first^)? (`from` $end^)? attr-dict";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // FOVEA_DIALECT_TILE_IR_TILEBLOCKOPS_TD
