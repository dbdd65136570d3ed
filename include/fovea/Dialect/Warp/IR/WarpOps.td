//===- WarpOps.td - Operations of the warp dialect ---------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_WARPOPS_TD
#define FOVEA_DIALECT_WARP_IR_WARPOPS_TD

include "fovea/Dialect/Tile/IR/TileBase.td"

include "fovea/Dialect/Warp/IR/WarpAttrs.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Warp_SharedBuffer
    : Type<CPred<"::fovea::warp::isSharedBuffer($_self)">,
           "static memref in shared memory", "::mlir::MemRefType">;

class Warp_OpWithEffects<string mnemonic, list<Trait> traits = []>
    : Warp_Op<mnemonic,
              traits # [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]>;

def Warp_AllocOp : Warp_Op<"alloc"> {
  let summary = "a buffer in shared memory";
  let description = [{
    Lives as long as the CTA. `offset`, in bytes from the start of the CTA's
    dynamic shared memory, is chosen by `warp-allocate-shared-memory`. Extents are
    in [1, 65536], as tiles' are.

    Example:

    ```mlir
    %k = warp.alloc : memref<2x64x128xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<OptionalAttr<I64Attr>, "bytes from the start of dynamic shared memory; none: not placed yet">:$offset);
  let results = (outs Res<Warp_SharedBuffer, "the buffer", [MemAlloc]>:$buffer);
  let assemblyFormat = "(`offset` `(` $offset^ `)`)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Warp_OnesOp : Warp_Op<"ones"> {
  let summary = "a buffer of ones in shared memory";
  let description = [{
    As `warp.alloc`, but full of ones before any role starts, and never
    written: the block that the last columns of a `warp.dot`'s second operand
    lie in, one step of its sum high.

    Example:

    ```mlir
    %ones = warp.ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<OptionalAttr<I64Attr>, "bytes from the start of dynamic shared memory; none: not placed yet">:$offset);
  let results = (outs Res<Warp_SharedBuffer, "the buffer, full of ones", [MemAlloc]>:$buffer);
  let assemblyFormat = "(`offset` `(` $offset^ `)`)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Warp_StageOp : Warp_Op<"stage", [Pure]> {
  let summary = "one stage of a buffer";
  let description = [{
    The buffer's entry `stage` along its first dimension.

    Example:

    ```mlir
    %k0 = warp.stage %k[%s] : memref<2x64x128xbf16, #warp.shared<row_bytes = 128>>
      to memref<64x128xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<Warp_SharedBuffer, "a buffer whose first dimension counts stages">:$buffer,
    Arg<I32, "which stage, from 0">:$stage);
  let results = (outs Res<Warp_SharedBuffer, "the buffer of that stage">:$result);
  let assemblyFormat = [{
    $buffer `[` $stage `]` attr-dict `:` type($buffer) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Warp_CopyOp : Warp_OpWithEffects<"copy", [
    AttrSizedOperandSegments, NamedOpInterface]> {
  let summary = "copies a box of global memory to shared memory";
  let description = [{
    Reads as `tile.load` does: rows and columns of the buffer run along the
    memref's dimensions `dims`, from the given indices on; what lies outside the
    memref, or at or past `limit` along the rows, becomes 0. `fold` places rows
    as `tile.load` has it. With `if`, the copy is skipped where the condition is
    false.

    Without `async` the data is there for the whole CTA when the op is done, and
    nobody reads the buffer's old contents any more when it starts. With
    `async` the copy belongs to the producer's current stage of a pipeline: it
    may land at any time until the stage's `warp.consumer_wait` is done.

    With `fragments` what is copied is a vector that lies in memory as `tile.load` has
    it: a buffer of one row takes it in one piece, in that order.

    Example:

    ```mlir
    warp.copy async "k" %K[%b, %h, %j, %c0] limit(%n) dims [2, 3] to %k0
      : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> to memref<64x128xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "the global memory that is read">:$source,
    Arg<Variadic<Index>, "where the box starts: an index for each dimension of the memref">:$indices,
    Arg<Optional<Index>, "the first row that becomes 0, along `dims[0]`">:$limit,
    Arg<Optional<I1>, "whether anything is copied">:$condition,
    Arg<Warp_SharedBuffer, "the buffer that is written, the size of the box">:$target,
    Arg<DenseI64ArrayAttr, "the dimensions of the memref that rows and columns run along; -1: none">:$dims,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "[d, n]: n neighbouring rows run along dimension d">:$fold,
    Arg<UnitAttr, "memory has the order of the matrix unit's fragments">:$fragments,
    Arg<UnitAttr, "the copy may land later: in the stage that the producer acquired">:$async,
    Arg<OptionalAttr<StrAttr>, "the stream that the copy is a part of">:$name);
  let extraClassDeclaration = [{
    tile::BoxDims getBoxDims() { return {getDims(), getFold(), getFragments()}; }
  }];
  let assemblyFormat = [{
    (`async` $async^)? ($name^)? $source `[` $indices `]` (`limit` `(` $limit^ `)`)?
    (`if` `(` $condition^ `)`)? `dims` $dims (`fold` $fold^)?
    (`fragments` $fragments^)? `to` $target
    attr-dict `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
}

def Warp_ZeroRowsOp : Warp_OpWithEffects<"zero_rows"> {
  let summary = "makes the last rows of a stage zero";
  let description = [{
    Rows `from` and on become 0: all of them if `from` is not positive, none if
    the buffer has no more rows. For copies that can't end at a run-time row: a
    sequence's last block of values goes on with what happens to follow it in
    memory, and 0 * NaN is NaN.

    Belongs to a role that reads the stage. Each of its warp groups writes the
    rows before its own dots read them; all write the same, so none waits for
    another. The dots that follow see the zeros.

    Example:

    ```mlir
    warp.zero_rows %v0 from %n : memref<64x128xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<Warp_SharedBuffer, "one stage of a buffer">:$buffer,
    Arg<Index, "the first row that becomes 0">:$from);
  let assemblyFormat = "$buffer `from` $from attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Warp_LocalLoadOp : Warp_OpWithEffects<"local_load"> {
  let summary = "reads a shared buffer into a register tile";
  let description = [{
    Operands of 16 bits, and vectors of f32 that were copied in fragments.

    Example:

    ```mlir
    %q = warp.local_load %buffer : memref<128x64xbf16, #warp.shared<row_bytes = 128>>
      to tensor<128x64xbf16, #warp.mma_sync<warps = 4>>
    ```
  }];
  let arguments = (ins Arg<Warp_SharedBuffer, "the buffer that is read">:$source);
  let results = (outs Res<Tile_AnyTile, "the buffer's elements">:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Warp_DotOp : Warp_OpWithEffects<"dot", [
    NamedOpInterface,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "matrix product with operands in shared memory";
  let description = [{
    As `tile.dot`, with `b`, and `a` if it is no register tile, read from shared
    memory. With `transpose_a` the buffer `a` is of `KxM`, with `columns` some
    columns of the buffer `b` are read.

    With `async` the product is only issued: operands in shared memory may be
    read, and `a` and `acc` in registers used up, at any time until the result's
    `warp.dot_wait` is done. Dots are delivered in the order of their issue.

    An accumulator may be a product that is not delivered yet. The dot adds to
    it where it is, with no wait in between. It is then no value of its own any
    more: only `warp.await_reads` may still take it.

    With `rows`, a transposed `a` has more rows than the sum: the product is of those from there on.

    With `ones`, a buffer that `warp.ones` made, `b` is taken to go on with
    its columns, repeated along the sum: the product's last columns, as many,
    are each the sums of a's rows. `b` must be one panel wide, so that the ones
    are where its next panel would be.

    Example:

    ```mlir
    %t = warp.dot async "s" %q, %k0, %zero transpose_b
      : memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>,
        tensor<128x64xf32, #warp.wgmma<groups = 2>>
    %s = warp.dot_wait %t : !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>
    ```
  }];
  let arguments = (ins
    Arg<AnyTypeOf<[Tile_AnyTile, Warp_SharedBuffer]>, "first factor, in registers or shared memory: MxK, KxM if transposed">:$a,
    Arg<Warp_SharedBuffer, "second factor, in shared memory: KxN, NxK if transposed">:$b,
    Arg<AnyTypeOf<[Tile_F32Tile, Warp_PendingType]>, "what the product is added to: a tile of MxN, or a dot in flight">:$acc,
    Arg<Optional<Warp_SharedBuffer>, "a buffer of ones that `b` goes on with">:$ones,
    Arg<UnitAttr, "`a` is transposed">:$transposeA,
    Arg<UnitAttr, "`b` is transposed">:$transposeB,
    Arg<UnitAttr, "the dot is issued, the result comes later">:$async,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops mean this one">:$name,
    Arg<OptionalAttr<I64Attr>, "the first row of a transposed `a` that is taken">:$firstRow,
    Arg<OptionalAttr<I64Attr>, "the first column of `b` that is taken">:$firstColumn);
  let results = (outs Res<AnyType, "the sum, or the dot in flight that computes it">:$result);
  let assemblyFormat = [{
    (`async` $async^)? ($name^)? $a `,` $b `,` $acc
    (`transpose_a` $transposeA^)? (`transpose_b` $transposeB^)?
    (`rows` `(` $firstRow^ `)`)? (`columns` `(` $firstColumn^ `)`)?
    (`ones` `(` $ones^ `:` type($ones) `)`)?
    attr-dict `:` type($a) `,` type($b) `,` type($acc)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b,
                                "::mlir::Value":$acc, "bool":$transposeB,
                                "bool":$async,
                                CArg<"::mlir::StringAttr", "{}">:$name),
                            [{
    build($_builder, $_state, a, b, acc, /*ones=*/::mlir::Value(),
          /*transposeA=*/false, transposeB, async, name,
          /*firstRow=*/::mlir::IntegerAttr(),
          /*firstColumn=*/::mlir::IntegerAttr());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The result's type once it is delivered.
    ::mlir::RankedTensorType getTileType() {
      return getDeliveredType(getAcc().getType());
    }
    /// The product's last columns that are sums of a's rows.
    int64_t getNumOnes() {
      return getOnes() ? getOnes().getType().getDimSize(1) : 0;
    }
  }];
}

def Warp_DotWaitOp : Warp_OpWithEffects<"dot_wait", [
    AttrSizedOperandSegments, DotWaitOpInterface,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "waits for an asynchronous dot";
  let description = [{
    The first result is the product; dots issued after it may stay in flight.
    `above` lists tiles of non-negative f32 that must be computed before the
    wait, so that their work runs under the dot. `held` lists tiles whose
    further use must come after the wait: they are the remaining results. Both
    change no value. A register operand of a dot in flight must not be
    overwritten, so what computes the next one is held.

    Example:

    ```mlir
    %o, %e1 = warp.dot_wait %t above(%l : tensor<128x8xf32, #warp.wgmma<groups = 2>>)
      held(%e : tensor<128x32xf32, #warp.wgmma<groups = 2>>)
      : !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>
    ```
  }];
  let arguments = (ins
    Arg<Warp_PendingType, "the dot in flight">:$pending,
    Arg<Variadic<Tile_F32Tile>, "tiles that are computed before the wait">:$above,
    Arg<Variadic<Tile_AnyTile>, "tiles whose further use comes after the wait">:$held);
  let results = (outs
    Res<Tile_F32Tile, "the dot's result">:$result,
    Res<Variadic<Tile_AnyTile>, "the tiles of `held`, for use after the wait">:$heldResults);
  let assemblyFormat = [{
    $pending (`above` `(` $above^ `:` type($above) `)`)?
    (`held` `(` $held^ `:` type($held) `)`)? attr-dict
    `:` qualified(type($pending))
  }];
}

def Warp_BeginSumOp : Warp_Op<"begin_sum", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "a tile as what dots in flight add to";
  let description = [{
    The tile counts as a product of which nothing is outstanding: what a chain of
    asynchronous dots starts from.

    Example:

    ```mlir
    %p = warp.begin_sum %zero : tensor<128x256xf32, #warp.wgmma<groups = 2>>
    ```
  }];
  let arguments = (ins Arg<Tile_F32Tile, "what the sum starts from">:$tile);
  let results = (outs Res<Warp_PendingType, "the sum, to which nothing is outstanding">:$pending);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
}

def Warp_AwaitReadsOp : Warp_OpWithEffects<"await_reads", [DotWaitOpInterface]> {
  let summary = "waits until a dot has read its operands";
  let description = [{
    The dot that gave `pending`, and all that were issued before it, have read
    what they read of shared memory; dots issued after it may stay in flight. The
    product itself is not delivered: a dot in flight may be adding to it.

    Where a sum over a loop is kept in flight, this comes behind the issue of the
    next product and before the release of the stages of the last one.

    Example:

    ```mlir
    %p1 = warp.dot async "c" %a1, %b1, %p0
      : memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<64x256xbf16, #warp.shared<row_bytes = 128>>,
        !warp.pending<tensor<128x256xf32, #warp.wgmma<groups = 2>>>
    warp.await_reads %p0 : !warp.pending<tensor<128x256xf32, #warp.wgmma<groups = 2>>>
    ```
  }];
  let arguments = (ins Arg<Warp_PendingType, "the dot in flight whose operands are to be free">:$pending);
  let assemblyFormat = "$pending attr-dict `:` qualified(type($pending))";
}

def Warp_AnyOp : Warp_Op<"any", [Pure]> {
  let summary = "whether a warp holds an element that is true";
  let description = [{
    The same in all threads of a warp; warps may differ. What depends on it must
    come out the same for any grouping of rows, as with `tile.if_any`.

    Example:

    ```mlir
    %grown = warp.any %c : tensor<128x8xi1, #warp.wgmma<groups = 2>>
    ```
  }];
  let arguments = (ins Arg<Tile_I1Tile, "the flags">:$source);
  let results = (outs Res<I1, "whether one that the warp holds is true">:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def Warp_ExtractColumnsOp : Warp_Op<"extract_columns", [Pure]> {
  let summary = "some neighbouring columns of a tile";
  let description = [{
    Columns `from` and on, as many as the result has. With layouts that keep
    columns in blocks, `from` and the extent are multiples of the block.

    Example:

    ```mlir
    %a = warp.extract_columns %s from 0 : tensor<128x128xf32, #tile.reg> to tensor<128x32xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the whole tile">:$source,
    Arg<I64Attr, "the first column that is taken">:$from);
  let results = (outs Res<Tile_AnyTile, "its columns `from` and on">:$result);
  let assemblyFormat = [{
    $source `from` $from attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Warp_ConcatColumnsOp : Warp_Op<"concat_columns", [Pure]> {
  let summary = "tiles side by side";
  let description = [{
    Example:

    ```mlir
    %p = warp.concat_columns %a, %b : tensor<128x32xf32, #tile.reg>, tensor<128x96xf32, #tile.reg>
      to tensor<128x128xf32, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<Variadic<Tile_AnyTile>, "the tiles, from left to right">:$parts);
  let results = (outs Res<Tile_AnyTile, "all columns of the parts">:$result);
  let assemblyFormat = "$parts attr-dict `:` type($parts) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Warp_ConvertLayoutOp : Warp_Op<"convert_layout", [
    Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "a tile in another layout";
  let description = [{
    The same elements, held by other lanes or in other registers. Each warp keeps
    its rows: both layouts part them among equally many warps. A tile that is to
    go to other warps crosses through a stream (`tile.stream`).

    With `permuted` columns change their places instead, so that nothing moves:
    column `c` of the result is the column of the operand that the same lane
    holds in the same register. For a dot's first operand that changes nothing,
    if the rows of its second operand are permuted in the same way.

    `warp-assign-layouts` makes it where a dot's computed first operand lies
    otherwise than accumulators do: elements of 8 or 32 bits.

    Example:

    ```mlir
    %a = warp.convert_layout %p : tensor<64x32xf8E4M3FN, #warp.wgmma<groups = 1>>
      to tensor<64x32xf8E4M3FN, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the tile">:$source,
    Arg<UnitAttr, "columns change places, so that no element moves">:$permuted);
  let results = (outs Res<Tile_AnyTile, "the tile in the layout of its type">:$result);
  let assemblyFormat = [{
    (`permuted` $permuted^)? $source attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Warp_PipelineOp : Warp_Op<"pipeline", [NamedOpInterface]> {
  let summary = "makes a pipeline";
  let description = [{
    All stages are empty at first. `name` is the stream's whose boxes fill them:
    the role that owns it acquires and commits. `offset`, in bytes from the start of the
    CTA's dynamic shared memory, is where roles keep its barriers (a full and an
    empty one for each stage), chosen by `warp-allocate-shared-memory`; a
    pipeline whose producer and consumer are the same threads needs none.

    Example:

    ```mlir
    %p = warp.pipeline "k" : !warp.pipeline<2>
    ```
  }];
  let arguments = (ins
    Arg<OptionalAttr<I64Attr>, "where the barriers lie, in bytes from the start of dynamic shared memory">:$offset,
    Arg<OptionalAttr<StrAttr>, "the stream that fills the stages">:$name);
  let results = (outs Res<Warp_PipelineType, "the ring of stages, all empty", [MemAlloc]>:$pipeline);
  let assemblyFormat = [{
    ($name^)? (`offset` `(` $offset^ `)`)? attr-dict
    `:` qualified(type($pipeline))
  }];
}

class Warp_PipelineVerb<string mnemonic, string verb, string what>
    : Warp_OpWithEffects<mnemonic, [PipelineVerbOpInterface]> {
  let summary = what;
  let arguments = (ins
    Arg<Warp_PipelineType, "the ring of stages">:$pipeline,
    Arg<I32, "the stage's position in the ring, from 0">:$stage,
    Arg<I32, "0 or 1; flips each time that the ring wraps">:$phase);
  let assemblyFormat = [{
    $pipeline `[` $stage `,` $phase `]` attr-dict `:` qualified(type($pipeline))
  }];
  let extraClassDeclaration = "static PipelineVerb getVerb() { return PipelineVerb::" # verb # "; }";
}

def Warp_ProducerAcquireOp
    : Warp_PipelineVerb<"producer_acquire", "Acquire", "waits until a stage is free"> {
  let description = [{
    The consumers released the stage in the round before; copies into it may
    start.

    Example:

    ```mlir
    warp.producer_acquire %p[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
}

def Warp_ProducerCommitOp
    : Warp_PipelineVerb<"producer_commit", "Commit", "hands a stage to its consumers"> {
  let description = [{
    The asynchronous copies since the stage was acquired are all that it gets.

    Example:

    ```mlir
    warp.producer_commit %p[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
}

def Warp_ConsumerWaitOp
    : Warp_PipelineVerb<"consumer_wait", "Wait", "waits until a stage has its data"> {
  let description = [{
    Example:

    ```mlir
    warp.consumer_wait %p[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
}

def Warp_ConsumerReleaseOp
    : Warp_PipelineVerb<"consumer_release", "Release", "gives a stage back"> {
  let description = [{
    The consumer reads the stage's buffers no more.

    Example:

    ```mlir
    warp.consumer_release %p[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
}

#endif // FOVEA_DIALECT_WARP_IR_WARPOPS_TD
