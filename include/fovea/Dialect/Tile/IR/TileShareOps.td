//===- TileShareOps.td - Work items split among CTAs -------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_TILESHAREOPS_TD
#define FOVEA_DIALECT_TILE_IR_TILESHAREOPS_TD

include "fovea/Dialect/Tile/IR/TileBase.td"
include "fovea/Dialect/Tile/IR/TileInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_TakeShareOp : Tile_Op<"take_share", [
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "finds a CTA's equal share of all blocks";
  let description = [{
    `count` groups have `blocks(n)` blocks each, at least 1: the number that the
    region yields for group `n`. The blocks of all groups are numbered
    consecutively, `total` in all. Share `share` of `shares` equal shares is the
    range of blocks from `first` to `end`, exclusive: every share has
    `total div shares` blocks, and the first `total mod shares` shares have one
    more. `group` is the group that contains block `first`, and `before` is the
    number of blocks of the groups before it. For an empty share `group` and
    `before` are 0.

    The region has no side effects. It may read memory. The lanes of a warp
    evaluate it for 32 groups at a time.

    Source: equal shares of all blocks per CTA, as in Osama et al., Stream-K
    (2023), and Sanovar et al., Lean Attention (2024).

    Example:
    ```mlir
    %total, %first, %end, %group, %before = tile.take_share %cta of %ctas over %batch
      blocks(%n: index) {
        %length = memref.load %lengths[%n] : memref<?xindex>
        %blocks = arith.ceildivui %length, %c64 : index
        %some = arith.maxui %blocks, %c1 : index
        tile.yield %some : index
      }
    ```
  }];
  let arguments = (ins
    Arg<Index, "the number of the share">:$share,
    Arg<Index, "the number of shares; positive">:$shares,
    Arg<Index, "the number of groups">:$count);
  let results = (outs
    Res<Index, "the number of blocks of all groups">:$total,
    Res<Index, "the first block of the share">:$first,
    Res<Index, "the end of the share's blocks, exclusive">:$end,
    Res<Index, "the group that contains the first block">:$group,
    Res<Index, "the number of blocks in the groups before it">:$before);
  let regions = (region Described<SizedRegion<1>, "yields a group's number of blocks; argument: its index">:$blocks);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Tile_ArriveOp : Tile_Op<"arrive", [
    NamedOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "counts the CTAs that arrive; true in the last one";
  let description = [{
    Increments a counter once per CTA and is true in the CTA that arrives last,
    of `count` CTAs. The last arrival sets the counter to 0, which it must be
    when the kernel starts. The writes of all CTAs before their arrivals are
    visible after the last one. The op never waits.

    Source: the counters with wrap-around of split-K and stream-K kernels in
    NVIDIA CUTLASS and FlashInfer.

    Example:
    ```mlir
    %is_last = tile.arrive "o" %counters[%cta] of %parts : memref<1024xi32>
    ```
  }];
  let arguments = (ins
    Arg<MemRefOf<[I32]>, "the counters, in memory that all CTAs share">:$counters,
    Arg<Index, "the index of the counter">:$index,
    Arg<Index, "the number of CTAs that arrive; positive">:$count,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan refers to this op">:$name);
  let results = (outs Res<I1, "true in the CTA that arrives last">:$isLast);
  let assemblyFormat = [{
    ($name^)? $counters `[` $index `]` `of` $count attr-dict `:` type($counters)
  }];
  let hasVerifier = 1;
}

def Tile_JoinOp : Tile_Op<"join", [
    NamedOpInterface, AttrSizedOperandSegments, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "joins the partial states of a work item";
  let description = [{
    Ends an execution of the body of `tile.foreach_work schedule(shares)`. Each
    of the item's `parts` pieces has computed a *state* over its own blocks:
    tiles with the same number of rows, of which the first `rows` count. The op
    combines the states of all pieces, in the order of their blocks, and
    processes the result exactly once:

    - If the item has one piece, `whole` is executed with the state.
    - Otherwise the CTA writes its state to `memory` and arrives at `counters`.
      The CTA that arrives last reads the states of all pieces. For each group
      of `step` rows from row `r` on, with `r < rows`, it combines the states
      from piece 0 to the last one by `combine`, and executes `each` with `r`
      and the combined rows. Rows from `rows` on have unspecified values.

    The result does not depend on the order in which CTAs arrive.

    Piece `p` of the item is executed by CTA `cta + p`. A CTA executes at most
    two pieces of items with several pieces: the end of one, and the start of
    another. So piece 0 uses slot `2 cta + 1` of `memory`, and piece `p > 0`
    slot `2 (cta + p)`. A loop with pieces of a fixed size may execute more
    pieces of an item per CTA: then `slots(s)` gives the slots of the item, and
    piece `p` uses slot `s + p`. The first dimension of each memref of `memory`
    are slots, followed by the dimensions of the tile; a tile `Mx1` has no
    second one. Slots may have fewer rows than the tile; `rows`
    must not exceed them. The counter of the item is `counters[cta]`.

    `tile-lower-shares` lowers the op to stores, `tile.arrive` and loops.

    Example: the partial sums of a product.

    ```mlir
    tile.join "sum" (%x) part(%part of %parts at %cta) rows(%n) memory(%memory) counters(%counters) step 16
      : tensor<64x32xf32, #tile.reg> through memref<?x64x32xf32>, memref<256xi32>
      combine(%a: tensor<16x32xf32, #tile.reg>, %b: tensor<16x32xf32, #tile.reg>) {
        %sum = arith.addf %a, %b : tensor<16x32xf32, #tile.reg>
        tile.yield %sum : tensor<16x32xf32, #tile.reg>
      }
      whole(%all: tensor<64x32xf32, #tile.reg>) {
        tile.store %all, %C[%i, %c0] dims [0, 1] : tensor<64x32xf32, #tile.reg>, memref<?x32xf32>
        tile.yield
      }
      each(%row: index, %some: tensor<16x32xf32, #tile.reg>) {
        %at = arith.addi %i, %row : index
        tile.store %some, %C[%at, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<?x32xf32>
        tile.yield
      }
    ```
  }];
  let arguments = (ins
    Arg<Variadic<Tile_AnyTile>, "the state of this piece">:$states,
    Arg<Index, "the number of this piece among the item's pieces">:$part,
    Arg<Index, "the number of the item's pieces">:$parts,
    Arg<Index, "the CTA of the item's first piece; the number of the counter">:$cta,
    Arg<Optional<Index>, "the slot of the item's first piece; none: slots by CTA">:$slot,
    Arg<Index, "the number of rows that count">:$rows,
    Arg<Variadic<AnyMemRef>, "memory for the states of pieces, one memref per tile">:$memory,
    Arg<MemRefOf<[I32]>, "one counter per CTA; 0 when the kernel starts and when it ends">:$counters,
    Arg<I64Attr, "rows that are combined together; a divisor of the tiles' rows">:$step,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan refers to this op">:$name);
  let regions = (region
    Described<SizedRegion<1>, "combines two states of `step` rows; arguments: the tiles of both">:$combine,
    Described<SizedRegion<1>, "processes the state of an item with one piece; arguments: its tiles">:$whole,
    Described<SizedRegion<1>, "processes `step` rows of a combined state; arguments: the first row and the tiles">:$each);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The slot of a piece in `memory`, without `slots`.
    static int64_t getSlotOfCta(int64_t cta, int64_t part) {
      return 2 * (cta + part) + (part == 0 ? 1 : 0);
    }
  }];
}

#endif // FOVEA_DIALECT_TILE_IR_TILESHAREOPS_TD
