//===- TileOps.td - Operations of the tile dialect ---------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_TILEOPS_TD
#define FOVEA_DIALECT_TILE_IR_TILEOPS_TD

include "fovea/Dialect/Launch/IR/LaunchInterfaces.td"
include "fovea/Dialect/Plan/IR/PlanEnums.td"
include "fovea/Dialect/Tile/IR/TileAttrs.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_IotaOp : Tile_Op<"iota", [
    Pure, DeclareOpInterfaceMethods<RowsOpInterface>]> {
  let summary = "coordinates along one dimension";
  let description = [{
    A row tile (`dim 0`) or column tile (`dim 1`) that counts from 0.

    Example:

    ```mlir
    %r = tile.iota dim 0 : tensor<128x1xi32, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<I64Attr, "the dimension that is counted along: 0 rows, 1 columns">:$dim);
  let results = (outs Res<Tile_AnyTile, "0, 1, 2, ... along `dim`; its other extent is 1">:$result);
  let assemblyFormat = "`dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_RandomOp : Tile_Op<"random", [
    Pure, DrawsNumbersOpInterface,
    DeclareOpInterfaceMethods<RowsOpInterface>]> {
  let summary = "random numbers by position";
  let description = [{
    Each element is a number from 0 to 65535, a function of `key`, `stream` and
    its position: `j` along `dim`, `i` along the other dimension, counted from
    `row` and `column`. Eight neighbours along `dim` share a counter. Philox
    4x32-7 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3) makes
    four words of

    ```
    counter (j div 8, i, stream mod 2^32, stream div 2^32)
    key     (key mod 2^32, key div 2^32)
    ```

    and the element is half `j mod 8` of them: of word `(j mod 8) div 2` the low
    half for even `j`, the high half for odd `j`.

    That is `generator` 1, the only one so far. Its numbers will not change:
    another way to draw them will have another number.

    No layout is favoured: lanes that hold parts of the same eight elements
    compute one counter each, for all of them, and exchange words. Scores may be
    transposed: `dim` is the dimension that keys lie along.

    The start and the extent along `dim` are multiples of 8; positions lie below
    2^31.

    Example:

    ```mlir
    %r = tile.random key(%key) stream(%stream) [%i, %j] dim 1 : tensor<128x64xi32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<I64, "which numbers: the key of the generator">:$key,
    Arg<I64, "which numbers: the stream under the key">:$stream,
    Arg<Index, "the position of the tile's first row">:$row,
    Arg<Index, "the position of the tile's first column">:$column,
    Arg<I64Attr, "the dimension whose neighbours share a counter">:$dim,
    Arg<DefaultValuedOptionalAttr<I64Attr, "::fovea::generator::kVersion">, "the version of the random numbers">:$generator);
  let results = (outs Res<Tile_AnyTile, "a number from 0 to 65535 for each position">:$result);
  let assemblyFormat = [{
    `key` `(` $key `)` `stream` `(` $stream `)` `[` $row `,` $column `]`
    `dim` $dim (`generator` $generator^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_RampOp : Tile_Op<"ramp", [
    Pure, DeclareOpInterfaceMethods<RowsOpInterface>]> {
  let summary = "an arithmetic progression along one dimension";
  let description = [{
    A row tile (`dim 0`) or column tile (`dim 1`) of f32 whose element `k` is
    `start + k * step`. The two roundings of each element, and their order, are
    the target's choice.

    Example:

    ```mlir
    %bias = tile.ramp %start step %slope dim 1 : tensor<1x128xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<F32, "element 0">:$start,
    Arg<F32, "the difference of neighbours">:$step,
    Arg<I64Attr, "the dimension that the progression runs along: 0 rows, 1 columns">:$dim);
  let results = (outs Res<Tile_F32Tile, "`start + k * step` along `dim`; its other extent is 1">:$result);
  let assemblyFormat = [{
    $start `step` $step `dim` $dim attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_HeldRowsOp : Tile_Op<"held_rows", [
    Pure,
    DeclareOpInterfaceMethods<RowsOpInterface, ["getRowTile"]>,
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "the rows of a tile that the executing threads hold";
  let description = [{
    The first and the number of neighbouring rows of a tile of type `tile`: those
    that the threads hold which run the program in step. Where all threads do,
    these are all rows. A layout may part them among warp groups, which then run
    a role each for its own rows, and differ in what they branch on.

    What is computed for a row may depend on the range only as long as it comes
    out the same for any range that contains the row. All warp groups must take
    and give back the same stages and turns, in the same order.

    Example:

    ```mlir
    %first, %count = tile.held_rows tensor<256x1xf32, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<TypeAttrOf<Tile_AnyTile>, "the type of the tile whose rows are meant">:$tile);
  let results = (outs
    Res<Index, "the first row held">:$first,
    Res<Index, "how many rows are held">:$count);
  let assemblyFormat = "$tile attr-dict";
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeats a scalar, row tile or column tile";
  let description = [{
    The operand is a scalar or a tile; each of its dimensions is 1 or the
    result's.

    Example:

    ```mlir
    %w = tile.broadcast %m : tensor<128x1xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<AnyType, "a scalar or a tile, each extent of which is 1 or the result's">:$source);
  let results = (outs Res<Tile_AnyTile, "the operand, repeated along dimensions of extent 1">:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_DiagonalsOp : Tile_Op<"diagonals", [Pure]> {
  let summary = "a tile made of its diagonals";
  let description = [{
    Element `c` of the operand, a column tile, is the value of one diagonal of
    the result: for a result of `M x N` the operand has `M + N` columns, and the
    result's element in row `r` and column `c` is the operand's in column
    `c - r + M - 1`. The last column is not used. What depends on the distance
    of query and key alone is so computed once for each distance.

    Example:

    ```mlir
    %b = tile.diagonals %d : tensor<1x192xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<Tile_AnyTile, "the value of each diagonal: 1x(M+N)">:$source);
  let results = (outs Res<Tile_AnyTile, "the tile of MxN with these diagonals">:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "combines a tile's elements along one dimension";
  let description = [{
    The result's extent `E` along `dim` divides the operand's; element `e` of it
    combines the operand's elements `e`, `e + E`, `e + 2E`, ... . `E = 1` is the
    usual reduction; a target's partial sums, one for each class of columns that
    a thread holds, are `E > 1`. `max` and `min` keep NaN, and compare integers as
    signed numbers. The order of additions is not specified.

    Example:

    ```mlir
    %m = tile.reduce max dim 1 %s : tensor<128x64xf32, #tile.reg> to tensor<128x1xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Tile_ReduceKind, "how elements combine">:$kind,
    Arg<I64Attr, "the dimension that they combine along: 0 rows, 1 columns">:$dim,
    Arg<Tile_AnyTile, "the elements">:$source);
  let results = (outs
    Res<Tile_AnyTile, "the combined elements; its extent along `dim` divides the operand's">:$result);
  let assemblyFormat = [{
    $kind `dim` $dim $source attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load", [
    AttrSizedOperandSegments, NamedOpInterface,
    DeclareOpInterfaceMethods<RowsOpInterface, ["getRowUnit"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "reads a box of a memref into a tile";
  let description = [{
    Tile dimension `t` runs along the memref's dimension `dims[t]`, from the
    given index on; `dims[t] = -1` says that the tile's extent there is 1 and
    stands for no dimension. Elements outside the memref are 0 and not read;
    with `limit`, so are those at or past it along the memref's dimension
    `dims[0]`. Indices may be negative.

    With `fold [d, n]`, rows run along two dimensions: row `r` lies `r div n`
    places along `dims[0]` and `r mod n` along `d`.

    With `fragments` the memref's last dimensions hold their elements in the order
    in which matrix units hold sums: in blocks of 16 rows by 8 columns, one behind
    the other along the columns, of which each lies in one piece: row `8 a + r`, with `r` below 8,
    column `2 t + e` of a block at `16 r + 4 t + 2 a + e`. So what a lane holds of a block
    are 16 bytes in the order of its registers, and a warp reaches 512 in one piece. A vector,
    along either dimension of the tile, has blocks of 16 elements: `8 a + 2 t + e` at
    `4 t + 2 a + e`. Boxes start at a block, and all of a box lies in the memref.

    With `by_register`, blocks of a matrix in fragments hold one register of all lanes behind the other:
    row `8 a + r`, column `2 t + e` at `64 a + 32 e + 4 r + t`. So a warp reaches 128 bytes in one piece
    where its instructions take an element of each lane.

    Example:

    ```mlir
    %k = tile.load "k" %K[%b, %h, %j, %c0] limit(%n) dims [2, 3]
      : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> to tensor<64x64xbf16, #tile.reg>
    // 16 heads of 4 queries each.
    %q = tile.load %Q[%b, %h, %c0, %c0] dims [1, 3] fold [2, 4]
      : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> to tensor<64x64xbf16, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "the memory that is read">:$source,
    Arg<Variadic<Index>, "where the box starts: an index for each dimension of the memref">:$indices,
    Arg<Optional<Index>, "the first row that does not count, along `dims[0]`">:$limit,
    Arg<DenseI64ArrayAttr, "the dimensions of the memref that rows and columns run along; -1: none">:$dims,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "[d, n]: n neighbouring rows run along dimension d">:$fold,
    Arg<UnitAttr, "memory has the order of the matrix unit's fragments">:$fragments,
    Arg<UnitAttr, "fragments hold one register of all lanes behind the other">:$by_register,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops mean this one">:$name);
  let results = (outs Res<Tile_AnyTile, "the elements of the box; 0 outside the memref">:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result,
                                "::mlir::Value":$source,
                                "::mlir::ValueRange":$indices,
                                "::mlir::Value":$limit,
                                "::llvm::ArrayRef<int64_t>":$dims,
                                CArg<"::mlir::StringAttr", "{}">:$name), [{
    build($_builder, $_state, result, source, indices, limit,
          $_builder.getDenseI64ArrayAttr(dims),
          /*fold=*/::mlir::DenseI64ArrayAttr(),
          /*fragments=*/::mlir::UnitAttr(),
          /*by_register=*/::mlir::UnitAttr(), name);
  }]>];
  let extraClassDeclaration = [{
    BoxDims getBoxDims() {
      return {getDims(), getFold(), getFragments(), getByRegister()};
    }
  }];
  let assemblyFormat = [{
    ($name^)? $source `[` $indices `]` (`limit` `(` $limit^ `)`)? `dims` $dims
    (`fold` $fold^)? (`fragments` $fragments^)?
    (`by_register` $by_register^)? attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "reads single elements of a memref into a tile";
  let description = [{
    One operand a memref dimension, each an index or a tile of i32 or i64, all
    broadcast to the result's shape. Elements where `mask` (broadcast too) is
    false, or whose indices lie outside the memref, are 0 and not read.

    Example:

    ```mlir
    %x = tile.gather %table[%h, %bucket] mask(%keep : tensor<128x64xi1, #tile.reg>)
      : memref<?x32xf32, strided<[?, ?]>>[index, tensor<128x64xi32, #tile.reg>]
        to tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "the memory that is read">:$source,
    Arg<Variadic<AnyType>, "for each dimension of the memref an index, or a tile of i32 or i64">:$indices,
    Arg<Optional<Tile_I1Tile>, "which elements are read; none: all">:$mask);
  let results = (outs Res<Tile_AnyTile, "the elements; 0 where none is read">:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict
    `:` type($source) (`[` type($indices)^ `]`)? `to` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_Op<"scatter", [
    AttrSizedOperandSegments, NamedOpInterface, AddsToMemoryOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "writes a tile's elements to single places of a memref";
  let description = [{
    The reverse of `tile.gather`, with the same operands: elements where `mask`
    is false, or whose indices lie outside the memref, are dropped. No two
    elements may have one place; the interpreter checks that. A plan's role owns
    it by its `name`, as it owns stores.

    With `add` elements, f32, are added to what is there, and may share places;
    the order in which they are added is not specified. Where indices are the
    same along a dimension of the tile, threads add up what they hold along it
    before they go to memory. Where they are results of `tile.diagonals`, or
    scalars, each warp adds up what it holds of each diagonal, and then what
    neighbouring diagonals have for one place. The value has several rows, and
    columns for all of them.

    With `add exact` the sums are the same in whatever order elements are added.
    The memref has a dimension more, its first one, of 33 i64. Number k of those
    has the elements whose exponents, as f32 stores them, are 8 k and the next
    seven, in multiples of 2^(8 k - 150); up to 2^32 elements fit. The last one
    has 1 for each infinity, 2^32 for each negative one, and both for each NaN.
    Source: Collange et al., Numerical reproducibility for the parallel reduction
    on multi- and many-core architectures (2015), after Kulisch's long
    accumulator.

    Example:

    ```mlir
    tile.scatter %number, %order[%rank] mask(%exists : tensor<16x1xi1, #tile.reg>)
      : tensor<16x1xi32, #tile.reg>, memref<?xi32>[tensor<16x1xi32, #tile.reg>]
    tile.scatter add exact "share" %share, %sums[%head]
      : tensor<64x64xf32, #tile.reg>, memref<33x?xi64>[index]
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the elements">:$value,
    Arg<AnyMemRef, "the memory that is written">:$target,
    Arg<Variadic<AnyType>, "for each dimension of the memref an index, or a tile of i32 or i64; none for the first one of exact sums">:$indices,
    Arg<Optional<Tile_I1Tile>, "which elements are written; none: all">:$mask,
    Arg<UnitAttr, "elements are added to what is there">:$add,
    Arg<UnitAttr, "sums are the same in any order">:$exact,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan means this one">:$name);
  let builders = [OpBuilder<(ins "::mlir::Value":$value,
                                "::mlir::Value":$target,
                                "::mlir::ValueRange":$indices,
                                "::mlir::Value":$mask), [{
    build($_builder, $_state, value, target, indices, mask,
          /*add=*/::mlir::UnitAttr(), /*exact=*/::mlir::UnitAttr(),
          /*name=*/::mlir::StringAttr());
  }]>];
  let assemblyFormat = [{
    (`add` $add^)? (`exact` $exact^)? ($name^)? $value `,` $target `[` $indices `]` (`mask` `(` $mask^ `:` type($mask) `)`)?
    attr-dict `:` type($value) `,` type($target) (`[` type($indices)^ `]`)?
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [
    AttrSizedOperandSegments, NamedOpInterface, AddsToMemoryOpInterface,
    DeclareOpInterfaceMethods<RowsOpInterface, ["getRowTile", "getRowUnit"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "writes a tile into a box of a memref";
  let description = [{
    The reverse of `tile.load`; elements outside the memref are dropped, and
    with `limit` those at or past it along the memref's dimension `dims[0]`.
    `fold`, `fragments` and `by_register` place elements as they do there. With `add` elements, f32, are added to
    what is there, each at once; the order in which those of several stores are
    added is not specified.

    Example:

    ```mlir
    tile.store "out" %o, %O[%b, %h, %i, %c0] limit(%end) dims [2, 3]
      : tensor<128x64xbf16, #tile.reg>, memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the elements of the box">:$value,
    Arg<AnyMemRef, "the memory that is written">:$target,
    Arg<Variadic<Index>, "where the box starts: an index for each dimension of the memref">:$indices,
    Arg<Optional<Index>, "the first row that does not count, along `dims[0]`">:$limit,
    Arg<DenseI64ArrayAttr, "the dimensions of the memref that rows and columns run along; -1: none">:$dims,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "[d, n]: n neighbouring rows run along dimension d">:$fold,
    Arg<UnitAttr, "memory has the order of the matrix unit's fragments">:$fragments,
    Arg<UnitAttr, "fragments hold one register of all lanes behind the other">:$by_register,
    Arg<UnitAttr, "elements are added to what is there">:$add,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops mean this one">:$name);
  let builders = [OpBuilder<(ins "::mlir::Value":$value,
                                "::mlir::Value":$target,
                                "::mlir::ValueRange":$indices,
                                "::llvm::ArrayRef<int64_t>":$dims,
                                CArg<"::mlir::StringAttr", "{}">:$name), [{
    build($_builder, $_state, value, target, indices,
          /*limit=*/::mlir::Value(), $_builder.getDenseI64ArrayAttr(dims),
          /*fold=*/::mlir::DenseI64ArrayAttr(),
          /*fragments=*/::mlir::UnitAttr(),
          /*by_register=*/::mlir::UnitAttr(), /*add=*/::mlir::UnitAttr(), name);
  }]>];
  let extraClassDeclaration = [{
    BoxDims getBoxDims() {
      return {getDims(), getFold(), getFragments(), getByRegister()};
    }
  }];
  let assemblyFormat = [{
    (`add` $add^)? ($name^)? $value `,` $target `[` $indices `]` (`limit` `(` $limit^ `)`)?
    `dims` $dims (`fold` $fold^)? (`fragments` $fragments^)?
    (`by_register` $by_register^)? attr-dict `:` type($value) `,` type($target)
  }];
  let hasVerifier = 1;
}

def Tile_DotOp : Tile_Op<"dot", [
    Pure, NamedOpInterface, AllTypesMatch<["acc", "result"]>]> {
  let summary = "matrix product, added to an accumulator";
  let description = [{
    `result = acc + a * b`, with `a` of `MxK`, or `KxM` with `transpose_a`, and
    `b` of `KxN`, or `NxK` with `transpose_b`. Products and sums are f32; the order of additions is not
    specified.

    With `columns`, `b` is wider than the sum: the product is of its columns from there on, as many
    as the sum has. With `rows`, `a` is transposed and has more rows than the sum: the product is of
    those from there on. So what one dot takes whole others may take in parts.

    Example:

    ```mlir
    %s = tile.dot "s" %q, %k, %zero transpose_b
      : tensor<128x64xbf16, #tile.reg>, tensor<64x64xbf16, #tile.reg>, tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "first factor: MxK, KxM if transposed">:$a,
    Arg<Tile_AnyTile, "second factor: KxN, NxK if transposed">:$b,
    Arg<Tile_F32Tile, "what the product is added to: MxN">:$acc,
    Arg<UnitAttr, "`a` is transposed">:$transposeA,
    Arg<UnitAttr, "`b` is transposed">:$transposeB,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops mean this one">:$name,
    Arg<OptionalAttr<I64Attr>, "the first row of a transposed `a` that is taken">:$firstRow,
    Arg<OptionalAttr<I64Attr>, "the first column of `b` that is taken">:$firstColumn);
  let results = (outs Res<Tile_F32Tile, "the sum: MxN">:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b,
                                "::mlir::Value":$acc, "bool":$transposeA,
                                "bool":$transposeB,
                                CArg<"::mlir::StringAttr", "{}">:$name),
                            [{
    build($_builder, $_state, a, b, acc, transposeA, transposeB, name,
          /*firstRow=*/::mlir::IntegerAttr(),
          /*firstColumn=*/::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = [{
    ($name^)? $a `,` $b `,` $acc (`transpose_a` $transposeA^)?
    (`transpose_b` $transposeB^)? (`rows` `(` $firstRow^ `)`)? (`columns` `(` $firstColumn^ `)`)? attr-dict
    `:` type($a) `,` type($b) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def Tile_StreamOp : Tile_Op<"stream", [
    Pure, NamedOpInterface, SameOperandsAndResultType]> {
  let summary = "a computed tile that is read from memory on chip";
  let description = [{
    The tile itself. Its `name` says which flow it is a part of, as that of a
    load does: whoever computes the tile puts it into a stage of that stream, and
    the dots that take the result as an operand, either way round, read it there.
    They may be those of another role; what needs the tile in registers takes the
    operand. If the plan has the stream come through memory even so
    (`staged`), other ops may take the result: another role reads it back into
    registers, or its copy engine writes it to memory. A dot's second operand, and a transposed first one, are loads or
    streams. So is dS of attention's backward pass, which the product for dK reads
    as it is and that for dQ transposed.

    Example:

    ```mlir
    %shared = tile.stream "ds" %ds : tensor<128x64xbf16, #tile.reg>
    %dq = tile.dot "dq" %shared, %k, %zero transpose_a
      : tensor<128x64xbf16, #tile.reg>, tensor<128x64xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the computed tile">:$value,
    Arg<OptionalAttr<StrAttr>, "the stream that the tile is a part of">:$name);
  let results = (outs Res<Tile_AnyTile, "the same tile, as dots read it from memory on chip">:$result);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Tile_IfAnyOp : Tile_Op<"if_any", [
    SingleBlock, RecursiveMemoryEffects, RecursivelySpeculatable,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "runs its body if any row asks for it";
  let description = [{
    A row's condition holds where any of its columns in `condition` does. The
    results are the body's where any row's condition holds, else `inits`. The
    body gets `inits` as arguments and must leave rows whose condition is false
    as they are: a target may decide for any set of rows on its own (a warp
    votes for the rows that it holds), and the result may not depend on which.
    The interpreter checks it. A condition known to hold everywhere, or nowhere,
    folds the op away.

    Example:

    ```mlir
    %acc1 = tile.if_any %moved init(%acc0 : tensor<128x64xf32, #tile.reg>) : tensor<128x1xi1, #tile.reg> {
    ^bb0(%a: tensor<128x64xf32, #tile.reg>):
      %f = tile.broadcast %factor : tensor<128x1xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
      %r = arith.mulf %a, %f : tensor<128x64xf32, #tile.reg>
      tile.yield %r : tensor<128x64xf32, #tile.reg>
    }
    ```
  }];
  let arguments = (ins
    Arg<Tile_I1Tile, "which rows ask for the body">:$condition,
    Arg<Variadic<Tile_AnyTile>, "tiles that the body may change">:$inits);
  let results = (outs Res<Variadic<Tile_AnyTile>, "the tiles afterwards">:$results);
  let regions = (region
    Described<SizedRegion<1>, "gets the tiles and yields them, changed in the rows that ask for it">:$body);
  let assemblyFormat = [{
    $condition (`init` `(` $inits^ `:` type($inits) `)`)? `:` type($condition)
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_BallotOp : Tile_Op<"ballot", [Pure]> {
  let summary = "a column tile of flags as an integer";
  let description = [{
    Bit `c` of the result is column `c` of the operand.

    Example:

    ```mlir
    %bits = tile.ballot %any : tensor<1x32xi1, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<Tile_I1Tile, "one flag a column: 1x32">:$flags);
  let results = (outs Res<I32, "bit `c` is column `c`">:$bits);
  let assemblyFormat = "$flags attr-dict `:` type($flags)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kColumns = 32;
  }];
}

def Tile_SoftmaxSumOp : Tile_Op<"softmax_sum", [
    SingleBlock, RecursiveMemoryEffects, AttrSizedOperandSegments,
    NamedOpInterface]> {
  let summary = "weighted sum of value rows under a softmax";
  let description = [{
    With `s = scale * scores(j)` over all blocks `j = lower, lower + step, ...`
    below `upper`, gives for each row

    ```
    m    a reference point: any number such that the sums below are finite;
         -inf for a row whose scores are all -inf
    l    = sum exp(s - m)
    acc  = sum exp(s - m) * v
    ```

    `scores` gets the block's first key `j` and whether the block is *partial*,
    that is `j < full_lower` or `j >= full_upper`; it yields an `MxN` f32 tile,
    `N` the step, and may omit masking where `%partial` is false. Only the first
    key is asked: `full_upper` must not lie inside a block. Masked elements are
    -inf, and so may be elements for which `s * log2(e)` overflows. `values`
    gets the block's first key and yields the `NxDv` tile of values; the weights
    are rounded to its element type before the product, whose dot is named `name`.
    `weights`, optional, gets the block's first key and `exp(s - m)` and yields
    the weights for `acc`, for dropout; `l` does not see it. `scale` is positive.

    With `descending`, blocks are visited from the last to the first, the block
    visited first always counts as partial, and it is visited even if there is
    no block below `upper`: then `j` is `lower`, and all scores must be -inf.
    A loop that runs at least once can be started before it is entered.
    `lower` is not negative.

    With `visible(%v0, %v1)`, all scores of blocks that end at or before `v0`, or
    start at or after `v1`, are -inf in the rows that the executing threads hold
    (`tile.held_rows`). Such blocks are visited for others' sake.

    In a second form the blocks are not those of a range but what `visit` says:
    for `n = 0, 1, ...` below `count`, `visit` gets `n` and values that the op
    carries from block to block, first those of `init`, and yields the block's
    first key `j` and the next of these values. The values are uniform scalars;
    `visit` may read memory, and has no other effects. A block is partial if `n < masked`.

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

    Rewritten by `tile-fuse-online-softmax` into `tile.for_blocks`.

    Example:

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
    ```
  }];
  let arguments = (ins
    Arg<Optional<Index>, "the first block's first key; not negative">:$lower,
    Arg<Optional<Index>, "the end of the keys: blocks start below it">:$upper,
    Arg<Optional<Index>, "blocks that start below it are partial">:$fullLower,
    Arg<Optional<Index>, "blocks that start at or above it are partial">:$fullUpper,
    Arg<Optional<Index>, "how many blocks `visit` gives">:$count,
    Arg<Optional<Index>, "how many of these blocks, the first ones, are partial">:$masked,
    Arg<Variadic<AnyType>, "what `visit` carries, at first: uniform scalars">:$inits,
    Arg<Variadic<Index>, "two bounds: blocks outside show nothing to the rows held">:$visible,
    Arg<I64Attr, "keys of a block">:$step,
    Arg<F32Attr, "what scores are multiplied by; positive">:$scale,
    Arg<UnitAttr, "visits the last block first, and at least one">:$descending,
    Arg<OptionalAttr<StrAttr>, "the name of the weights' dot with the values">:$name);
  let results = (outs
    Res<Tile_F32Tile, "reference points of the rows: Mx1">:$m,
    Res<Tile_F32Tile, "sums of the weights, taken from `m` on: Mx1">:$l,
    Res<Tile_F32Tile, "weighted sums of the values: MxDv">:$acc);
  let regions = (region
    Described<SizedRegion<1>, "a block's scores by its first key and whether it is partial: MxN">:$scores,
    Described<SizedRegion<1>, "a block's values by its first key: NxDv">:$values,
    Described<AnyRegion, "changes a block's weights before they meet the values; empty: they stay">:$weights,
    Described<AnyRegion, "gives a block's first key by its number; empty: the blocks are a range">:$visit);
  let extraClassDeclaration = [{
    /// The blocks are those of a region, not of a range.
    bool isVisiting() { return !getVisit().empty(); }
    /// One block is visited in any case, and the first one is partial.
    bool runsAtLeastOnce() { return getDescending(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_SoftmaxMergeOp : Tile_Op<"softmax_merge", [
    Pure, AllTypesMatch<["mA", "mB", "m"]>, AllTypesMatch<["lA", "lB", "l"]>,
    AllTypesMatch<["accA", "accB", "acc"]>]> {
  let summary = "joins two softmax states";
  let description = [{
    Two states (m, l, acc) of the same rows over disjoint keys become that of
    their union. Used for split KV and `attn.merge`.

    Example:

    ```mlir
    %m, %l, %acc = tile.softmax_merge (%m0, %l0, %acc0), (%m1, %l1, %acc1)
      : tensor<128x1xf32, #tile.reg>, tensor<128x1xf32, #tile.reg>, tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Tile_F32Tile, "the first state's reference points: Mx1">:$mA,
    Arg<Tile_F32Tile, "the first state's sums: Mx1">:$lA,
    Arg<Tile_F32Tile, "the first state's weighted sums: MxDv">:$accA,
    Arg<Tile_F32Tile, "the second state's reference points: Mx1">:$mB,
    Arg<Tile_F32Tile, "the second state's sums: Mx1">:$lB,
    Arg<Tile_F32Tile, "the second state's weighted sums: MxDv">:$accB);
  let results = (outs
    Res<Tile_F32Tile, "the union's reference points: Mx1">:$m,
    Res<Tile_F32Tile, "the union's sums: Mx1">:$l,
    Res<Tile_F32Tile, "the union's weighted sums: MxDv">:$acc);
  let assemblyFormat = [{
    `(` $mA `,` $lA `,` $accA `)` `,` `(` $mB `,` $lB `,` $accB `)` attr-dict
    `:` type($mA) `,` type($lA) `,` type($accA)
  }];
  let hasVerifier = 1;
}

def Tile_SoftmaxFinishOp : Tile_Op<"softmax_finish", [
    Pure, AllTypesMatch<["m", "l", "lse"]>, AllTypesMatch<["acc", "output"]>]> {
  let summary = "output and log-sum-exp from a softmax state";
  let description = [{
    `output = acc / l`, `lse = m + log(l)`; rows with `l = 0` give 0 and -inf.

    With `sink`, one more score of each row that has no value joins the sum:
    `output = acc / (l + exp(sink - m))`, `lse = m + log(l + exp(sink - m))`, without
    overflow. Rows with `l = 0` then give 0 and the sink.

    Example:

    ```mlir
    %o, %lse = tile.softmax_finish %m, %l, %acc sink(%s : tensor<128x1xf32, #tile.reg>)
      : tensor<128x1xf32, #tile.reg>, tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Tile_F32Tile, "reference points of the rows: Mx1">:$m,
    Arg<Tile_F32Tile, "sums of the weights: Mx1">:$l,
    Arg<Tile_F32Tile, "weighted sums of the values: MxDv">:$acc,
    Arg<Optional<Tile_F32Tile>, "one more score of each row, without a value: Mx1">:$sink);
  let results = (outs
    Res<Tile_F32Tile, "weighted means of the values: MxDv">:$output,
    Res<Tile_F32Tile, "log-sum-exp of the scores, natural logarithm: Mx1">:$lse);
  let assemblyFormat = [{
    $m `,` $l `,` $acc (`sink` `(` $sink^ `:` type($sink) `)`)? attr-dict
    `:` type($m) `,` type($acc)
  }];
  let hasVerifier = 1;
}

// Its effects are unknown, not its body's: it always has some, and rewriting
// asks for each op in the body that changes whether this one is dead.
def Tile_ForeachWorkOp : Tile_Op<"foreach_work", [
    SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<LoopLikeOpInterface>]> {
  let summary = "runs its body for this CTA's share of the work";
  let description = [{
    The work is `count` items, numbered from 0; the CTAs of the grid execute the
    body once for each of them, in all. The body has effects only. `schedule`
    says which CTA gets which:

    | schedule | items of CTA `c` of a grid of `G` |
    |---|---|
    | `single` | `c`; the grid has `count` CTAs |
    | `static` | `c`, `c + G`, `c + 2 G`, ... |
    | `dynamic` | `c`, then one at a time, in order of arrival at a counter |

    `tile-lower-work` replaces `single` ones.

    Example:

    ```mlir
    tile.foreach_work %w to %count schedule(static) {
      %x = tile.load %S[%w, %c0] dims [-1, 1] : memref<?x64xf32> to tensor<1x64xf32, #tile.reg>
      tile.store %x, %T[%w, %c0] dims [-1, 1] : tensor<1x64xf32, #tile.reg>, memref<?x64xf32>
    }
    ```
  }];
  let arguments = (ins
    Arg<Index, "the number of work items">:$count,
    Arg<Plan_WorkSchedule, "which CTA gets which items">:$schedule);
  let regions = (region Described<SizedRegion<1>, "works on one item, by its number">:$region);
  let builders = [OpBuilder<(ins "::mlir::Value":$count,
                                 "::fovea::plan::WorkSchedule":$schedule)>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of the item that the body works on.
    ::mlir::BlockArgument getItem() { return getBody()->getArgument(0); }
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [
    Pure, Terminator, ReturnLike,
    ParentOneOf<["ForeachWorkOp", "SoftmaxSumOp", "ForBlocksOp", "IfAnyOp"]>]> {
  let summary = "ends a region of a tile op";
  let description = [{
    Yields the region's tiles.

    Example:

    ```mlir
    tile.yield %s : tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<Variadic<AnyType>, "the region's results">:$results);
  let builders = [OpBuilder<(ins), "build($_builder, $_state, {});">];
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}

include "fovea/Dialect/Tile/IR/TileBlockOps.td"

#endif // FOVEA_DIALECT_TILE_IR_TILEOPS_TD
