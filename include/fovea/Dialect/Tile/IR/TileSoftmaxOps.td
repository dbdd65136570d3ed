//===- TileSoftmaxOps.td - Softmax-weighted sums -----------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_TILESOFTMAXOPS_TD
#define FOVEA_DIALECT_TILE_IR_TILESOFTMAXOPS_TD

include "fovea/Dialect/Plan/IR/PlanEnums.td"
include "fovea/Dialect/Tile/IR/TileBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_SoftmaxSumOp : Tile_Op<"softmax_sum", [
    SingleBlock, RecursiveMemoryEffects, AttrSizedOperandSegments,
    NamedOpInterface]> {
  let summary = "softmax-weighted sum of value rows";
  let description = [{
    Let `s = scale * scores(j)` and `v = values(j)` for all blocks
    `j = lower, lower + step, ...` with `j < upper`. For each row, the op computes

    ```
    m    softmax offset: any number for which the following sums are finite;
         -inf for a row whose scores are all -inf
    l    = sum exp(s - m)
    acc  = sum exp(s - m) * v
    ```

    The output may be in several *parts*, one accumulator for each range of its
    columns, so that several roles can own one each.

    Semantics of the regions and operands:

    - `scores` takes the block's first key `j` and a flag that tells whether the
      block is *partial*, that is `j < full_lower` or `j >= full_upper`. It
      yields an `MxN` f32 tile, where `N` is the step, and may omit masking if
      the flag is false. The flag depends on the first key only, so `full_upper`
      must be a block boundary. Masked elements are -inf. Elements for which
      `s * log2(e)` overflows may be treated as -inf.
    - `values` takes the block's first key and yields the value tiles, `NxDv` for
      an `MxDv` accumulator: one for each accumulator, or one tile for all. The
      accumulators then use consecutive column ranges of that tile, from column
      0, and the tile may have more columns. In latent attention, for example,
      the first 512 of 576 columns of K are the values, and `values` loads the
      tile that `scores` loads. The probabilities are rounded to the tiles'
      element type before the product. `name` names the dot of that product. If
      there are several accumulators, it is the family of the dots' names:
      `"o.0"` and `"o.1"` for `"o"`.
    - `weights` is optional and implements dropout. It takes the block's first
      key and `exp(s - m)` and yields the probabilities that multiply the
      values. `l` sums the unmodified `exp(s - m)`.
    - `scale` must be positive and `lower` must not be negative. With
      `scale(0.125, %f)` the scale is `0.125 * f`, where `f` is positive and the
      same in all threads of the CTA.

    With `descending` the loop iterates from the last block to the first, and at
    least once. Its first iteration is always partial. If the range is empty,
    `j` is `lower` and all scores must be -inf. A loop that runs at least once
    allows pipelining to start the first iteration before the loop.

    `visible(%v0, %v1)` states that blocks that end at or before `v0`, or start
    at or after `v1`, have only -inf scores in the rows that the executing warp
    group owns (`tile.held_rows`). These blocks run only because another warp
    group needs them.

    In a second form, the `visit` region computes the blocks. It runs for
    `n = 0, 1, ..., count - 1`. Its arguments are `n` and loop-carried scalars,
    initialised from `init`; it yields the block's first key `j` and the next
    scalars. The scalars must be uniform across the CTA. `visit` may read memory
    but must have no other side effects. A block is partial if `n < masked`.

    ```mlir
    %m, %l, %acc = tile.softmax_sum blocks %count masked(%masked) init(%w : i32) step 64 scale(0.125)
      visit(%n: index, %word: i32) {
        ...
        tile.yield %first, %next : index, i32
      }
      scores(%j: index, %partial: i1) {
        ...
        tile.yield %s : tensor<128x64xf32, #tile.reg>
      }
      values(%j: index) {
        ...
        tile.yield %v : tensor<64x64xbf16, #tile.reg>
      } : tensor<128x1xf32, #tile.reg>, tensor<128x64xf32, #tile.reg>
    ```

    `tile-fuse-online-softmax` lowers the op to `tile.for_blocks`.

    Examples:
    ```mlir
    %m, %l, %acc = tile.softmax_sum "o" %lb to %ub step 64 full(%fb, %fe) scale(0.125)
      scores(%j: index, %partial: i1) {
        ...
        tile.yield %s : tensor<128x64xf32, #tile.reg>
      }
      values(%j: index) {
        ...
        tile.yield %v : tensor<64x64xbf16, #tile.reg>
      } : tensor<128x1xf32, #tile.reg>, tensor<128x64xf32, #tile.reg>

    %m2, %l2, %parts:2 = tile.softmax_sum "o" %lb to %ub step 64 full(%fb, %fe) scale(0.0417)
      scores(%j: index, %partial: i1) {
        %k = tile.load "k" %K[%j, %c0] dims [0, 1] : memref<?x576xbf16> to tensor<64x576xbf16, #tile.reg>
        ...
        tile.yield %s2 : tensor<64x64xf32, #tile.reg>
      }
      values(%j: index) {
        %k = tile.load "k" %K[%j, %c0] dims [0, 1] : memref<?x576xbf16> to tensor<64x576xbf16, #tile.reg>
        tile.yield %k : tensor<64x576xbf16, #tile.reg>
      } : tensor<64x1xf32, #tile.reg>, tensor<64x256xf32, #tile.reg>, tensor<64x256xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Optional<Index>, "first key of the first block; not negative">:$lower,
    Arg<Optional<Index>, "the end of the keys, exclusive for a block's first key">:$upper,
    Arg<Optional<Index>, "blocks that start below it are partial">:$fullLower,
    Arg<Optional<Index>, "blocks that start at or above it are partial">:$fullUpper,
    Arg<Optional<Index>, "number of iterations of `visit`">:$count,
    Arg<Optional<Index>, "number of leading blocks that are partial">:$masked,
    Arg<Variadic<AnyType>, "initial values of the scalars that `visit` carries; uniform">:$inits,
    Arg<Variadic<Index>, "two bounds: owned rows see no key of blocks outside of them">:$visible,
    Arg<Optional<F32>, "the run-time factor of the scale; positive and uniform">:$runtimeScale,
    Arg<I64Attr, "block size, in keys">:$step,
    Arg<F32Attr, "softmax scale; positive">:$scale,
    Arg<UnitAttr, "iterates from the last block to the first, at least once">:$descending,
    Arg<OptionalAttr<StrAttr>, "the name of the dot of the probabilities and the values">:$name);
  let results = (outs
    Res<Tile_F32Tile, "softmax offset of each row: Mx1">:$m,
    Res<Tile_F32Tile, "row sums of `exp(s - m)`: Mx1">:$l,
    Res<Variadic<Tile_F32Tile>, "unnormalised output, one tile for each part: MxDv">:$accs);
  let regions = (region
    Described<SizedRegion<1>, "computes the scores of a block; arguments: its first key, the partial flag: MxN">:$scores,
    Described<SizedRegion<1>, "loads the values of a block; argument: its first key: NxDv for each part, or one tile for all parts">:$values,
    Described<AnyRegion, "modifies the probabilities before the product with the values; empty: no change">:$weights,
    Described<AnyRegion, "computes the first key of block `n`; empty if the blocks are a range">:$visit);
  let extraClassDeclaration = [{
    /// True if the `visit` region computes the blocks; false for a range.
    bool isVisiting() { return !getVisit().empty(); }
    /// True if the loop runs at least once and its first block is partial.
    bool runsAtLeastOnce() { return getDescending(); }
    /// The element type of the value tiles.
    ::mlir::FloatType getValueElementType();
    /// The columns of a value tile that an accumulator sums.
    struct ValueColumns {
      unsigned tile; ///< number of the tile that `values` yields
      int64_t first; ///< its first column of the accumulator
      bool isWhole;  ///< the accumulator sums all columns of the tile
    };
    ValueColumns getValueColumns(unsigned part);
    /// The name of the dot of an accumulator; null without a name.
    ::mlir::StringAttr getDotName(unsigned part);
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_SoftmaxMergeOp : Tile_Op<"softmax_merge", [
    Pure, SameVariadicOperandSize, AllTypesMatch<["mA", "mB", "m"]>,
    AllTypesMatch<["lA", "lB", "l"]>,
    RangedTypesMatchWith<"both states must have the same accumulators",
                         "accsA", "accsB", "$_self">,
    RangedTypesMatchWith<"results must have the types of the accumulators",
                         "accsA", "accs", "$_self">]> {
  let summary = "merges two softmax states";
  let description = [{
    Merges two states (m, l, acc) of the same rows over disjoint sets of keys
    into the state of their union. The op is used for split KV and `attn.merge`.
    Each state has the same number of accumulators, as in `tile.softmax_sum`.

    Example:
    ```mlir
    %m, %l, %acc = tile.softmax_merge (%m0, %l0, %acc0), (%m1, %l1, %acc1)
      : tensor<128x1xf32, #tile.reg>, tensor<128x1xf32, #tile.reg>, tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Tile_F32Tile, "softmax offsets of the first state: Mx1">:$mA,
    Arg<Tile_F32Tile, "row sums of the first state: Mx1">:$lA,
    Arg<Variadic<Tile_F32Tile>, "unnormalised output of the first state, in parts: MxDv">:$accsA,
    Arg<Tile_F32Tile, "softmax offsets of the second state: Mx1">:$mB,
    Arg<Tile_F32Tile, "row sums of the second state: Mx1">:$lB,
    Arg<Variadic<Tile_F32Tile>, "unnormalised output of the second state, in parts: MxDv">:$accsB);
  let results = (outs
    Res<Tile_F32Tile, "softmax offsets of the union: Mx1">:$m,
    Res<Tile_F32Tile, "row sums of the union: Mx1">:$l,
    Res<Variadic<Tile_F32Tile>, "unnormalised output of the union, in parts: MxDv">:$accs);
  let assemblyFormat = [{
    `(` $mA `,` $lA `,` $accsA `)` `,` `(` $mB `,` $lB `,` $accsB `)` attr-dict
    `:` type($mA) `,` type($lA) `,` type($accsA)
  }];
  let hasVerifier = 1;
}

def Tile_SoftmaxFinishOp : Tile_Op<"softmax_finish", [
    Pure, AttrSizedOperandSegments, AllTypesMatch<["m", "l", "lse"]>,
    RangedTypesMatchWith<"outputs must have the types of the accumulators",
                         "accs", "outputs", "$_self">]> {
  let summary = "computes the output and the log-sum-exp of a softmax state";
  let description = [{
    Computes `output = acc / l`, for each accumulator, and `lse = m + log(l)`.
    Rows with `l = 0` have output 0 and log-sum-exp -inf.

    `sink` adds one score without a value to each row: `output = acc / (l +
    exp(sink - m))` and `lse = m + log(l + exp(sink - m))`, computed without
    overflow. Rows with `l = 0` then have output 0 and log-sum-exp `sink`.

    Example:
    ```mlir
    %o, %lse = tile.softmax_finish %m, %l, %acc sink(%s : tensor<128x1xf32, #tile.reg>)
      : tensor<128x1xf32, #tile.reg>, tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Tile_F32Tile, "softmax offset of each row: Mx1">:$m,
    Arg<Tile_F32Tile, "row sums: Mx1">:$l,
    Arg<Variadic<Tile_F32Tile>, "unnormalised output, one tile for each part: MxDv">:$accs,
    Arg<Optional<Tile_F32Tile>, "attention sink of each row: Mx1">:$sink);
  let results = (outs
    Res<Variadic<Tile_F32Tile>, "normalised output, one tile for each part: MxDv">:$outputs,
    Res<Tile_F32Tile, "natural log-sum-exp of the scores: Mx1">:$lse);
  let assemblyFormat = [{
    $m `,` $l `,` $accs (`sink` `(` $sink^ `:` type($sink) `)`)? attr-dict
    `:` type($m) `,` type($accs)
  }];
  let hasVerifier = 1;
}

// No RecursiveMemoryEffects: the body always has side effects, and the greedy
// rewriter would recompute them for each change of an op in the body.

#endif // FOVEA_DIALECT_TILE_IR_TILESOFTMAXOPS_TD
