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
    Allocates a buffer in shared memory that lives as long as the CTA. `offset`,
    in bytes from the start of the CTA's dynamic shared memory, is set by
    `warp-allocate-shared-memory`. Extents are in [1, 65536], as for register
    tiles.

    Example:

    ```mlir
    %k = warp.alloc : memref<2x64x128xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<OptionalAttr<I64Attr>, "offset in bytes from the start of dynamic shared memory; absent before allocation">:$offset);
  let results = (outs Res<Warp_SharedBuffer, "the buffer", [MemAlloc]>:$buffer);
  let assemblyFormat = "(`offset` `(` $offset^ `)`)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Warp_OnesOp : Warp_Op<"ones"> {
  let summary = "a read-only buffer of ones in shared memory";
  let description = [{
    Allocates a buffer as `warp.alloc` does. It is filled with ones before any
    role starts and is never written. Its columns extend the second operand of a
    `warp.dot` (`ones`), so that the dot also computes row sums of its first
    operand. It has as many rows as one MMA instruction sums over.

    Example:

    ```mlir
    %ones = warp.ones : memref<16x8xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<OptionalAttr<I64Attr>, "offset in bytes from the start of dynamic shared memory; absent before allocation">:$offset);
  let results = (outs Res<Warp_SharedBuffer, "the buffer of ones", [MemAlloc]>:$buffer);
  let assemblyFormat = "(`offset` `(` $offset^ `)`)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Warp_StageOp : Warp_Op<"stage", [Pure]> {
  let summary = "selects one stage of a multi-stage buffer";
  let description = [{
    Returns the part of `buffer` at index `stage` of its first dimension.

    Example:

    ```mlir
    %k0 = warp.stage %k[%s] : memref<2x64x128xbf16, #warp.shared<row_bytes = 128>>
      to memref<64x128xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<Warp_SharedBuffer, "a buffer whose first dimension is the stage">:$buffer,
    Arg<I32, "index of the stage, from 0">:$stage);
  let results = (outs Res<Warp_SharedBuffer, "the part of the buffer that belongs to the stage">:$result);
  let assemblyFormat = [{
    $buffer `[` $stage `]` attr-dict `:` type($buffer) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Warp_CopyOp : Warp_OpWithEffects<"copy", [
    AttrSizedOperandSegments, NamedOpInterface]> {
  let summary = "copies a tile of global memory to shared memory";
  let description = [{
    Copies the tile of `source` that starts at the given indices into `target`.
    The rows and columns of the tile run along the dimensions `dims` of the
    memref. Elements outside the memref, and rows at or after `limit`, become 0.
    `fold` interleaves heads into the rows, and `groups` places groups of rows,
    as for `tile.load`; a table of groups is for copies by threads, not by TMA.
    With `if`, the copy is skipped if the condition is false.

    Without `async`, the data is visible to the whole CTA when the op completes,
    and all reads of the buffer's old contents precede the op. With `async`, the
    copy belongs to the stage that the producer acquired last: the data may
    arrive at any time until `warp.consumer_wait` on that stage completes.

    With `fragments`, the source is a vector that memory holds in fragment order
    (see `tile.load`). A buffer of one row receives it contiguously, in that
    order.

    Example:

    ```mlir
    warp.copy async "k" %K[%b, %h, %j, %c0] limit(%n) dims [2, 3] to %k0
      : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> to memref<64x128xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "the global memory to read">:$source,
    Arg<Variadic<Index>, "start of the tile: one index per dimension of the memref; then those of further groups">:$indices,
    Arg<Optional<Index>, "the first row, along `dims[0]`, that becomes 0">:$limit,
    Arg<Optional<MemRefOf<[I32, I64]>>, "the memory with the indices of groups">:$table,
    Arg<Variadic<Index>, "the position in `table` of the first group's index">:$tableIndices,
    Arg<Optional<I1>, "whether to copy">:$condition,
    Arg<Warp_SharedBuffer, "the buffer to write; its shape is that of the tile">:$target,
    Arg<DenseI64ArrayAttr, "memref dimensions of the rows and of the columns; -1: none">:$dims,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "[d, n] or [d, n, m]: n adjacent rows run along dimension d, of which m exist">:$fold,
    Arg<UnitAttr, "memory is in the order of MMA fragments">:$fragments,
    Arg<UnitAttr, "the copy completes later; it fills the stage that the producer acquired">:$async,
    Arg<OptionalAttr<StrAttr>, "the stream that the copy belongs to">:$name,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "[d, n]: each n rows begin at an index of their own along dimension d">:$groups);
  let extraClassDeclaration = [{
    tile::BoxDims getBoxDims() {
      return {getDims(), getFold(), getFragments(), /*byRegister=*/false,
              getGroups()};
    }
  }];
  let assemblyFormat = [{
    (`async` $async^)? ($name^)? $source `[` $indices `]` (`limit` `(` $limit^ `)`)?
    (`if` `(` $condition^ `)`)? `dims` $dims (`fold` $fold^)?
    (`groups` $groups^)? (`at` $table^ `[` $tableIndices `]`)?
    (`fragments` $fragments^)? `to` $target
    attr-dict `:` type($source) (`at` type($table)^)? `to` type($target)
  }];
  let hasVerifier = 1;
}

def Warp_ZeroRowsOp : Warp_OpWithEffects<"zero_rows", [LaneSyncOpInterface]> {
  let summary = "sets the last rows of a stage to zero";
  let description = [{
    Sets row `from` and all later rows of the buffer to 0: all rows if `from` is
    not positive, none if `from` is not less than the number of rows. This op is
    for TMA copies, which cannot stop at a row known only at run time. The last
    block of V of a sequence then includes rows that follow the sequence in
    memory, and 0 * NaN is NaN.

    The op belongs to a role that reads the stage. Each warp group of the role
    writes the rows before its own dots read them. All warp groups write the
    same values, so they need no synchronisation with each other. Dots after the
    op see the zeros.

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

def Warp_LocalLoadOp : Warp_OpWithEffects<"local_load", [
    DeclareOpInterfaceMethods<LaneAccessOpInterface, ["isAccessByLanes", "getAccessedBuffer"]>]> {
  let summary = "loads a shared buffer into a register tile";
  let description = [{
    Loads a shared buffer into a register tile of the same shape and element
    type. The buffer holds 16-bit elements, or an f32 vector that was copied in
    fragment order. Each lane loads its elements of a vector by itself; a warp
    loads a matrix with collective instructions (`ldmatrix`).

    With `transpose`, the tile is the transposed buffer, which holds 8-bit
    elements. The layout of the result is `#warp.row_pairs`.

    Example:

    ```mlir
    %q = warp.local_load %buffer : memref<128x64xbf16, #warp.shared<row_bytes = 128>>
      to tensor<128x64xbf16, #warp.mma_sync<warps = 4>>
    %t = warp.local_load transpose %v : memref<64x128xf8E4M3FN, #warp.shared<row_bytes = 128>>
      to tensor<128x64xf8E4M3FN, #warp.row_pairs<warps = 4>>
    ```
  }];
  let arguments = (ins
    Arg<Warp_SharedBuffer, "the buffer to read">:$source,
    Arg<UnitAttr, "the tile is the transposed buffer">:$transpose);
  let results = (outs Res<Tile_AnyTile, "the elements of the buffer">:$result);
  let assemblyFormat = [{
    (`transpose` $transpose^)? $source attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Warp_DotOp : Warp_OpWithEffects<"dot", [
    NamedOpInterface,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "matrix multiply-accumulate with operands in shared memory";
  let description = [{
    Computes `acc + a * b` as `tile.dot` does. `b` is in shared memory; `a` is
    in shared memory or is a register tile. With `transpose_a`, the buffer `a`
    is `KxM`; with `transpose_b`, the buffer `b` is `NxK`. `columns` selects the
    columns of `b` from that index on, as many as the accumulator has.

    With `async`, the op only issues the MMA. Until `warp.dot_wait` on the
    result completes, the hardware may read operands in shared memory and may
    read or overwrite the registers of `a` and `acc`. Dots complete in the order
    of their issue.

    The accumulator may be the result of an outstanding dot. The new dot then
    accumulates in place, without a wait between the two. The old value is
    consumed: only `warp.await_reads` may still use it.

    With `rows`, a transposed `a` has more rows than the accumulator; the dot
    uses the rows from that index on.

    With `ones`, a buffer made by `warp.ones`, `b` is extended by the columns of
    that buffer; its rows repeat along the reduction dimension. The last columns
    of the product, as many as `ones` has, then each contain the row sums of
    `a`.
    `b` must be one panel wide, so that `ones` takes the place of its next
    panel.

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
    Arg<AnyTypeOf<[Tile_F32Tile, Warp_PendingType]>, "the accumulator: a tile of MxN, or an outstanding dot">:$acc,
    Arg<Optional<Warp_SharedBuffer>, "a buffer of ones that extends the columns of `b`">:$ones,
    Arg<UnitAttr, "`a` is transposed">:$transposeA,
    Arg<UnitAttr, "`b` is transposed">:$transposeB,
    Arg<UnitAttr, "issue the dot without waiting for its result">:$async,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops refer to this op">:$name,
    Arg<OptionalAttr<I64Attr>, "the first row to use of a transposed `a`">:$firstRow,
    Arg<OptionalAttr<I64Attr>, "the first column to use of `b`">:$firstColumn);
  let results = (outs Res<AnyType, "the sum, or the outstanding dot that computes it">:$result);
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
    /// The type of the result after the wait.
    ::mlir::RankedTensorType getTileType() {
      return getDeliveredType(getAcc().getType());
    }
    /// Number of trailing columns of the product that contain row sums of `a`.
    int64_t getNumOnes() {
      return getOnes() ? getOnes().getType().getDimSize(1) : 0;
    }
  }];
}

def Warp_DotWaitOp : Warp_OpWithEffects<"dot_wait", [
    AttrSizedOperandSegments, DotWaitOpInterface,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "waits until an asynchronous dot has finished";
  let description = [{
    Waits for the dot that produced `pending` and returns its product as the
    first result. Dots issued after it may stay outstanding.

    `above` and `held` only constrain the order of instructions; they change no
    value. `above` lists f32 tiles that must be computed before the wait, so
    that their computation overlaps the dot. Their elements must not be
    negative, because the lowering tests their signs to order them. `held` lists
    tiles that are computed before the wait and used after it: each has a
    result, which replaces it in the uses after the wait. An example is the
    register operand of the next dot, which must not be computed into registers
    that an outstanding dot still reads.

    Example:

    ```mlir
    %o, %e1 = warp.dot_wait %t above(%l : tensor<128x8xf32, #warp.wgmma<groups = 2>>)
      held(%e : tensor<128x32xf32, #warp.wgmma<groups = 2>>)
      : !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>
    ```
  }];
  let arguments = (ins
    Arg<Warp_PendingType, "the outstanding dot">:$pending,
    Arg<Variadic<Tile_F32Tile>, "tiles to compute before the wait">:$above,
    Arg<Variadic<Tile_AnyTile>, "tiles whose later uses come after the wait">:$held);
  let results = (outs
    Res<Tile_F32Tile, "the dot's result">:$result,
    Res<Variadic<Tile_AnyTile>, "the tiles of `held`, for uses after the wait">:$heldResults);
  let assemblyFormat = [{
    $pending (`above` `(` $above^ `:` type($above) `)`)?
    (`held` `(` $held^ `:` type($held) `)`)? attr-dict
    `:` qualified(type($pending))
  }];
}

def Warp_BeginSumOp : Warp_Op<"begin_sum", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "starts an accumulation by asynchronous dots";
  let description = [{
    Converts a tile to the type of an outstanding dot, although no dot is
    outstanding. The result is the first accumulator of asynchronous dots that
    accumulate in place.

    Example:

    ```mlir
    %p = warp.begin_sum %zero : tensor<128x256xf32, #warp.wgmma<groups = 2>>
    ```
  }];
  let arguments = (ins Arg<Tile_F32Tile, "the initial value of the sum">:$tile);
  let results = (outs Res<Warp_PendingType, "the sum, with no outstanding dots">:$pending);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
}

def Warp_AwaitReadsOp : Warp_OpWithEffects<"await_reads", [DotWaitOpInterface]> {
  let summary = "waits until a dot has finished reading its operands";
  let description = [{
    Waits until the dot that produced `pending`, and all dots issued before it,
    have finished reading shared memory. Dots issued after it may stay
    outstanding. The op does not return the product, because an outstanding dot
    may still accumulate into it.

    In a loop that keeps its sum outstanding, the op follows the issue of the
    current iteration's dot and precedes the release of the stages that the
    previous iteration's dot reads.

    Example:

    ```mlir
    %p1 = warp.dot async "c" %a1, %b1, %p0
      : memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<64x256xbf16, #warp.shared<row_bytes = 128>>,
        !warp.pending<tensor<128x256xf32, #warp.wgmma<groups = 2>>>
    warp.await_reads %p0 : !warp.pending<tensor<128x256xf32, #warp.wgmma<groups = 2>>>
    ```
  }];
  let arguments = (ins Arg<Warp_PendingType, "the outstanding dot whose operands must become free">:$pending);
  let assemblyFormat = "$pending attr-dict `:` qualified(type($pending))";
}

def Warp_AnyOp : Warp_Op<"any", [Pure]> {
  let summary = "whether any element that the warp holds is true";
  let description = [{
    Reduces an `i1` tile with "or" over the elements that one warp holds. The
    result is uniform in the warp but may differ between warps. Code that
    depends on it must give the same results for any grouping of rows, as for
    `tile.if_any`.

    Example:

    ```mlir
    %grown = warp.any %c : tensor<128x8xi1, #warp.wgmma<groups = 2>>
    ```
  }];
  let arguments = (ins Arg<Tile_I1Tile, "the flags">:$source);
  let results = (outs Res<I1, "whether any flag that the warp holds is true">:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def Warp_ExtractColumnsOp : Warp_Op<"extract_columns", [Pure]> {
  let summary = "extracts adjacent columns of a tile";
  let description = [{
    Returns the columns of `source` from index `from` on, as many as the result
    has. If the layout keeps columns in blocks, `from` and the number of columns
    are multiples of the block size.

    Example:

    ```mlir
    %a = warp.extract_columns %s from 0 : tensor<128x128xf32, #tile.reg> to tensor<128x32xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the whole tile">:$source,
    Arg<I64Attr, "the first column to extract">:$from);
  let results = (outs Res<Tile_AnyTile, "the extracted columns">:$result);
  let assemblyFormat = [{
    $source `from` $from attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Warp_ConcatColumnsOp : Warp_Op<"concat_columns", [Pure]> {
  let summary = "concatenates tiles along their columns";
  let description = [{
    Returns a tile whose columns are those of the operands, from left to right.

    Example:

    ```mlir
    %p = warp.concat_columns %a, %b : tensor<128x32xf32, #tile.reg>, tensor<128x96xf32, #tile.reg>
      to tensor<128x128xf32, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<Variadic<Tile_AnyTile>, "the tiles, from left to right">:$parts);
  let results = (outs Res<Tile_AnyTile, "the columns of all operands">:$result);
  let assemblyFormat = "$parts attr-dict `:` type($parts) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Warp_ConvertLayoutOp : Warp_Op<"convert_layout", [
    Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "converts a tile to another layout";
  let description = [{
    Redistributes the elements of a tile over lanes and registers of each warp.
    Each warp keeps its rows: both layouts must divide the rows among the same
    number of warps. A tile that another set of warps needs has to go through a
    stream (`tile.stream`).

    With `permuted`, no element moves; the columns are reindexed instead: column
    `c` of the result is the column of `source` that the same lane holds in the
    same register. For the first operand of a dot this does not change the
    product if the rows of the second operand are permuted in the same way.

    `warp-assign-layouts` inserts this op before a dot whose computed first
    operand has 8-bit or 32-bit elements, since such operands have a layout
    different from accumulators.

    Example:

    ```mlir
    %a = warp.convert_layout %p : tensor<64x32xf8E4M3FN, #warp.wgmma<groups = 1>>
      to tensor<64x32xf8E4M3FN, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the tile">:$source,
    Arg<UnitAttr, "reindex columns instead of moving elements">:$permuted);
  let results = (outs Res<Tile_AnyTile, "the tile in the layout of the result type">:$result);
  let assemblyFormat = [{
    (`permuted` $permuted^)? $source attr-dict `:` type($source) `to` type($result)
  }];
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Warp_PipelineOp : Warp_Op<"pipeline", [NamedOpInterface]> {
  let summary = "creates a pipeline";
  let description = [{
    Creates a ring of stages, all empty. `name` is the stream, the plan's name
    for the sequence of tiles that fill the stages; the role that owns this
    stream is the producer. `offset`, in bytes from the start of the CTA's
    dynamic shared memory, is the address of the pipeline's mbarriers (a full
    and an empty barrier per stage) and is set by `warp-allocate-shared-memory`.
    A pipeline whose producer and consumer are the same threads needs no
    barriers.

    Example:

    ```mlir
    %p = warp.pipeline "k" : !warp.pipeline<2>
    ```
  }];
  let arguments = (ins
    Arg<OptionalAttr<I64Attr>, "offset of the barriers in bytes from the start of dynamic shared memory">:$offset,
    Arg<OptionalAttr<StrAttr>, "the stream that fills the stages">:$name);
  let results = (outs Res<Warp_PipelineType, "the ring of stages, all empty", [MemAlloc]>:$pipeline);
  let assemblyFormat = [{
    ($name^)? (`offset` `(` $offset^ `)`)? attr-dict
    `:` qualified(type($pipeline))
  }];
}

class Warp_PipelineSyncOp<string mnemonic, string kind, string what, bit afterDots = false>
    : Warp_OpWithEffects<mnemonic, [PipelineOpInterface]> {
  let summary = what;
  let arguments = (ins
    Arg<Warp_PipelineType, "the ring of stages">:$pipeline,
    Arg<I32, "index of the stage in the ring, from 0">:$stage,
    Arg<I32, "0 or 1; flips each time the ring wraps">:$phase);
  let assemblyFormat = [{
    $pipeline `[` $stage `,` $phase `]` attr-dict `:` qualified(type($pipeline))
  }];
  let extraClassDeclaration =
      "static PipelineOpKind getOpKind() { return PipelineOpKind::" # kind # "; }\n"
      # "static bool signalsAfterDots() { return " # !if(afterDots, "true", "false") # "; }";
}

def Warp_ProducerAcquireOp
    : Warp_PipelineSyncOp<"producer_acquire", "Acquire", "waits until a stage is empty"> {
  let description = [{
    Waits until all consumers have released the stage's previous use. Copies and
    stores into the stage may start after it.

    Example:

    ```mlir
    warp.producer_acquire %p[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
}

def Warp_ProducerCommitOp
    : Warp_PipelineSyncOp<"producer_commit", "Commit", "signals that the producer has filled a stage"> {
  let description = [{
    Completes the set of asynchronous copies that fill the stage: those issued
    since the producer acquired it. The stage becomes full when they have
    arrived.

    In a role, one lane of each warp commits. If lanes stored to the stage by
    themselves, `warp.sync_lanes` precedes the commit.

    Example:

    ```mlir
    warp.producer_commit %p[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
}

def Warp_ConsumerWaitOp
    : Warp_PipelineSyncOp<"consumer_wait", "Wait", "waits until a stage is full"> {
  let description = [{
    Waits until the producer has committed the stage and its copies have arrived. The
    consumer may read the stage's buffers after it.

    Example:

    ```mlir
    warp.consumer_wait %p[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
}

def Warp_ConsumerReleaseOp
    : Warp_PipelineSyncOp<"consumer_release", "Release", "signals that a consumer has finished with a stage"> {
  let description = [{
    Releases the stage to the producer. The consumer must not read the stage's
    buffers after it.

    In a role, one lane of each warp releases. If lanes read the stage by
    themselves, `warp.sync_lanes` precedes the release.

    Example:

    ```mlir
    warp.consumer_release %p[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
}

def Warp_SyncLanesOp : Warp_OpWithEffects<"sync_lanes", [
    DeclareOpInterfaceMethods<LaneSyncOpInterface, ["getFences"]>]> {
  let summary = "synchronises the lanes of each warp (`__syncwarp`)";
  let description = [{
    A warp barrier. All lanes of a warp wait for each other. Accesses to shared
    memory that a lane makes before the op precede all accesses that any lane of
    the warp makes after it. Warps do not wait for each other.

    One lane of a warp arrives at the barriers of a pipeline for all of them
    (`warp.producer_commit`, `warp.consumer_release`). Lanes do not run in
    lockstep, so the arrival orders the accesses of other lanes only if the
    lanes synchronise in between. `warp-sync-lanes` inserts the op where an
    arrival needs it.

    Each lane first executes the listed fences:

    - `async_proxy`: TMA and MMA units see the lane's stores to shared memory;
    - `tmem_loads`, `tmem_stores`: the lane's loads from tensor memory, or its
      stores to it, precede the op, too.

    Example:

    ```mlir
    warp.consumer_wait %p[%stage, %phase] : !warp.pipeline<2>
    %lse = warp.local_load %buffer : memref<1x64xf32, #warp.shared<row_bytes = 128>>
      to tensor<1x64xf32, #warp.wgmma<groups = 1>>
    warp.sync_lanes
    warp.consumer_release %p[%stage, %phase] : !warp.pipeline<2>
    ...
    warp.local_store "ds" %ds to %stored : tensor<64x64xbf16, #warp.wgmma<groups = 1>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    warp.sync_lanes async_proxy
    warp.producer_commit %d[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
  let arguments = (ins
    Arg<UnitAttr, "TMA and MMA units see earlier stores to shared memory">:$asyncProxy,
    Arg<UnitAttr, "earlier loads from tensor memory are ordered, too">:$tmemLoads,
    Arg<UnitAttr, "earlier stores to tensor memory are ordered, too">:$tmemStores);
  let builders = [OpBuilder<(ins "::fovea::warp::LaneFence":$fences), [{
    auto flag = [&](LaneFence fence) {
      return containsAll(fences, fence) ? $_builder.getUnitAttr()
                                        : ::mlir::UnitAttr();
    };
    build($_builder, $_state, flag(LaneFence::AsyncProxy),
          flag(LaneFence::TmemLoads), flag(LaneFence::TmemStores));
  }]>];
  let assemblyFormat = [{
    (`async_proxy` $asyncProxy^)? (`tmem_loads` $tmemLoads^)?
    (`tmem_stores` $tmemStores^)? attr-dict
  }];
}

#endif // FOVEA_DIALECT_WARP_IR_WARPOPS_TD
