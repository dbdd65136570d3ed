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
  let summary = "creates a tile of consecutive integers";
  let description = [{
    Creates a row tile (`dim 0`) or a column tile (`dim 1`) with elements
    `0, 1, 2, ...`.

    Example:
    ```mlir
    %r = tile.iota dim 0 : tensor<128x1xi32, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<I64Attr, "the dimension of extent greater than 1: 0 rows, 1 columns">:$dim);
  let results = (outs Res<Tile_AnyTile, "`0, 1, 2, ...` along `dim`; the other extent is 1">:$result);
  let assemblyFormat = "`dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_RandomOp : Tile_Op<"random", [
    Pure, DrawsNumbersOpInterface,
    DeclareOpInterfaceMethods<RowsOpInterface>]> {
  let summary = "counter-based random numbers";
  let description = [{
    Each element is an integer from 0 to 65535 and a function of `key`, `stream`
    and its position. `j` is the position along `dim` and `i` the position along
    the other dimension, with `row` and `column` as the position of element (0,
    0). Eight consecutive elements along `dim` share one counter. Philox 4x32-7
    (Salmon et al., Parallel random numbers: as easy as 1, 2, 3) computes four
    32-bit words from

    ```
    counter (j div 8, i, stream mod 2^32, stream div 2^32)
    key     (key mod 2^32, key div 2^32)
    ```

    Element `j` is 16-bit half `j mod 8` of these words: the low half of word
    `(j mod 8) div 2` for even `j`, the high half for odd `j`.

    This function is `generator` 1, the only version. Its values are stable: a
    different function gets a new version number.

    The result does not depend on the layout. Lanes that hold parts of the same
    eight elements compute one counter each and exchange the words. `dim` is the
    key dimension, so a transposed score tile draws the same values.

    The start and the extent along `dim` must be multiples of 8, and positions
    must be less than 2^31.

    Example:
    ```mlir
    %r = tile.random key(%key) stream(%stream) [%i, %j] dim 1 : tensor<128x64xi32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<I64, "the key of the generator">:$key,
    Arg<I64, "the stream of the key">:$stream,
    Arg<Index, "the position of the tile's first row">:$row,
    Arg<Index, "the position of the tile's first column">:$column,
    Arg<I64Attr, "the dimension along which eight elements share a counter">:$dim,
    Arg<DefaultValuedOptionalAttr<I64Attr, "::fovea::generator::kVersion">, "version of the generator">:$generator);
  let results = (outs Res<Tile_AnyTile, "a number from 0 to 65535 for each position">:$result);
  let assemblyFormat = [{
    `key` `(` $key `)` `stream` `(` $stream `)` `[` $row `,` $column `]`
    `dim` $dim (`generator` $generator^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_RampOp : Tile_Op<"ramp", [
    Pure, DeclareOpInterfaceMethods<RowsOpInterface>]> {
  let summary = "creates an arithmetic progression";
  let description = [{
    Creates an f32 row tile (`dim 0`) or column tile (`dim 1`) whose element `k`
    is `start + k * step`. The order and the rounding of the multiplication and
    the addition are target-defined.

    Example:
    ```mlir
    %bias = tile.ramp %start step %slope dim 1 : tensor<1x128xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<F32, "element 0">:$start,
    Arg<F32, "difference between consecutive elements">:$step,
    Arg<I64Attr, "the dimension of the progression: 0 rows, 1 columns">:$dim);
  let results = (outs Res<Tile_F32Tile, "`start + k * step` along `dim`; the other extent is 1">:$result);
  let assemblyFormat = [{
    $start `step` $step `dim` $dim attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_OwnedRowsOp : Tile_Op<"held_rows", [
    Pure,
    DeclareOpInterfaceMethods<RowsOpInterface, ["getRowTile"]>,
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "returns the rows owned by the executing warp group";
  let description = [{
    Returns the offset and the count of the contiguous rows of a tile of type
    `tile` that the executing warp group owns. Before roles are assigned these
    are all rows. A layout may partition the rows among warp groups; each warp
    group then runs as its own role and may branch differently from the others.

    The result computed for a row must not depend on which range contains the
    row. All warp groups must acquire and release the same pipeline stages and
    enter the same ping-pong sections in the same order.

    Example:
    ```mlir
    %first, %count = tile.held_rows tensor<256x1xf32, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<TypeAttrOf<Tile_AnyTile>, "the type of the partitioned tile">:$tile);
  let results = (outs
    Res<Index, "offset of the first owned row">:$first,
    Res<Index, "number of owned rows">:$count);
  let assemblyFormat = "$tile attr-dict";
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "broadcasts a scalar, row tile or column tile";
  let description = [{
    The operand is a scalar or a tile. Each extent of a tile operand is 1 or
    equal to the result's.

    Example:
    ```mlir
    %w = tile.broadcast %m : tensor<128x1xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<AnyType, "a scalar, or a tile whose extents are 1 or the result's">:$source);
  let results = (outs Res<Tile_AnyTile, "the operand, repeated along dimensions of extent 1">:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_DiagonalsOp : Tile_Op<"diagonals", [Pure]> {
  let summary = "expands relative-position values into a tile";
  let description = [{
    The operand is a column tile with one value per relative position
    `column - row`. For an `M x N` result it has `M + N` columns, and
    `result[r, c] = source[0, c - r + M - 1]`; the last column is unused. A
    value that depends only on the relative position of query and key is then
    computed once per position instead of once per element.

    Example:
    ```mlir
    %b = tile.diagonals %d : tensor<1x192xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<Tile_AnyTile, "one value per relative position: 1x(M+N)">:$source);
  let results = (outs Res<Tile_AnyTile, "the expanded tile: MxN">:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "reduces a tile along one dimension";
  let description = [{
    The result's extent `E` along `dim` must divide the operand's. Result
    element `e` combines the operand's elements `e`, `e + E`, `e + 2E`, ....
    `E = 1` is a full reduction. `E > 1` keeps partial results, for example so
    that each thread combines only columns that it owns. `max` and `min`
    propagate NaN and compare integers as signed. The order of additions is
    unspecified.

    Example:
    ```mlir
    %m = tile.reduce max dim 1 %s : tensor<128x64xf32, #tile.reg> to tensor<128x1xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Tile_ReduceKind, "combining function">:$kind,
    Arg<I64Attr, "the reduced dimension: 0 rows, 1 columns">:$dim,
    Arg<Tile_AnyTile, "the elements">:$source);
  let results = (outs
    Res<Tile_AnyTile, "the reduced tile; its extent along `dim` divides the operand's">:$result);
  let assemblyFormat = [{
    $kind `dim` $dim $source attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load", [
    AttrSizedOperandSegments, NamedOpInterface,
    DeclareOpInterfaceMethods<RowsOpInterface, ["getRowUnit"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "loads a tile from a memref";
  let description = [{
    Tile dimension `t` runs along memref dimension `dims[t]`, starting at the
    given index. `dims[t] = -1` means that the tile has extent 1 there and
    corresponds to no memref dimension. Elements outside the memref are 0 and
    are not read. With `limit`, elements at or after index `limit` of memref
    dimension `dims[0]` are 0, too. Indices may be negative.

    With `fold [d, n]`, rows run along two memref dimensions: row `r` has offset
    `r div n` along `dims[0]` and offset `r mod n` along `d`. With
    `fold [d, n, m]` only the first `m` of each `n` rows exist: the others have
    unspecified values, and stores leave them out.

    With `groups [d, n]`, each `n` rows begin at an index of their own along
    dimension `d`, and at the same index along `dims[0]`: row `r` has offset
    `r mod n` along `dims[0]`. The first group's index is that of dimension `d`;
    those of the others follow the indices of the memref's dimensions. A `limit`
    counts the rows of all groups from the index along `dims[0]` on.

    With `groups [d, n] at %table[%i, %e]`, the groups' indices are in memory.
    Row `r` is row `j + r` of a sequence whose groups are `n` rows long, `j`
    being the index along `dims[0]`: it is row `(j + r) mod n` along `dims[0]`,
    and its index along `d` is `table[i, e + (j + r) div n]`. Positions past the
    end of the table's last dimension have its last entry. A `limit` counts the
    rows of the sequence. The index along `d` is not used.

    With `fragments`, the memref's last two dimensions store their elements in
    the order of MMA accumulator fragments. The matrix is divided into blocks of
    16 rows by 8 columns. Each block is contiguous, and blocks of the same 16
    rows are stored in the order of their columns. Element `(8 a + r, 2 t + e)`
    of a block, with `r < 8`, is at offset `16 r + 4 t + 2 a + e`. A lane's
    elements of a block are 16 contiguous bytes in register order, and a warp
    accesses 512 contiguous bytes. A vector, along either tile dimension, has
    blocks of 16 elements: element `8 a + 2 t + e` is at offset
    `4 t + 2 a + e`. The tile must start at a block boundary and lie within the
    memref.

    With `by_register`, each block of a matrix in fragments stores one register
    of all lanes contiguously: element `(8 a + r, 2 t + e)` is at offset
    `64 a + 32 e + 4 r + t`. Instructions that access one element per lane then
    cover 128 contiguous bytes per warp.

    Example:
    ```mlir
    %k = tile.load "k" %K[%b, %h, %j, %c0] limit(%n) dims [2, 3]
      : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> to tensor<64x64xbf16, #tile.reg>
    // 16 heads of 4 queries each.
    %q = tile.load %Q[%b, %h, %c0, %c0] dims [1, 3] fold [2, 4]
      : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> to tensor<64x64xbf16, #tile.reg>
    // Pages %p0, %p1, %p2 and %p3 of 16 rows each.
    %p = tile.load %K[%p0, %h, %c0, %c0, %p1, %p2, %p3] dims [2, 3] groups [0, 16]
      : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> to tensor<64x64xbf16, #tile.reg>
    // Keys from %j on, in pages of 3 rows.
    %r = tile.load %K[%c0, %h, %j, %c0] limit(%n) dims [2, 3] groups [0, 3] at %table[%b, %c0]
      : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> at memref<?x?xi32> to tensor<64x64xbf16, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "the source memory">:$source,
    Arg<Variadic<Index>, "position of the tile's first element: one index per memref dimension; then those of further groups">:$indices,
    Arg<Optional<Index>, "exclusive upper bound of the valid indices of `dims[0]`">:$limit,
    Arg<Optional<MemRefOf<[I32, I64]>>, "the memory with the indices of groups">:$table,
    Arg<Variadic<Index>, "the position in `table` of the first group's index">:$tableIndices,
    Arg<DenseI64ArrayAttr, "the memref dimensions of the tile's rows and columns; -1: none">:$dims,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "[d, n] or [d, n, m]: n consecutive rows run along dimension d, of which m exist">:$fold,
    Arg<UnitAttr, "memory is in the order of MMA accumulator fragments">:$fragments,
    Arg<UnitAttr, "fragments store each register of all lanes contiguously">:$by_register,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops refer to this op">:$name,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "[d, n]: each n rows begin at an index of their own along dimension d">:$groups);
  let results = (outs Res<Tile_AnyTile, "the loaded elements; 0 outside the memref">:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result,
                                "::mlir::Value":$source,
                                "::mlir::ValueRange":$indices,
                                "::mlir::Value":$limit,
                                "::llvm::ArrayRef<int64_t>":$dims,
                                CArg<"::mlir::StringAttr", "{}">:$name), [{
    build($_builder, $_state, result, source, indices, limit,
          /*table=*/::mlir::Value(), /*tableIndices=*/::mlir::ValueRange(),
          $_builder.getDenseI64ArrayAttr(dims),
          /*fold=*/::mlir::DenseI64ArrayAttr(),
          /*fragments=*/::mlir::UnitAttr(),
          /*by_register=*/::mlir::UnitAttr(), name,
          /*groups=*/::mlir::DenseI64ArrayAttr());
  }]>];
  let extraClassDeclaration = [{
    BoxDims getBoxDims() {
      return {getDims(), getFold(), getFragments(), getByRegister(),
              getGroups()};
    }
  }];
  let assemblyFormat = [{
    ($name^)? $source `[` $indices `]` (`limit` `(` $limit^ `)`)? `dims` $dims
    (`fold` $fold^)? (`groups` $groups^)? (`at` $table^ `[` $tableIndices `]`)?
    (`fragments` $fragments^)? (`by_register` $by_register^)? attr-dict
    `:` type($source) (`at` type($table)^)? `to` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "gathers elements of a memref into a tile";
  let description = [{
    Takes one index per memref dimension: an `index` scalar, or an i32 or i64
    tile that broadcasts to the result's shape, as `mask` does. Elements whose
    mask is false, or whose indices are outside the memref, are 0 and are not
    read.

    Example:
    ```mlir
    %x = tile.gather %table[%h, %bucket] mask(%keep : tensor<128x64xi1, #tile.reg>)
      : memref<?x32xf32, strided<[?, ?]>>[index, tensor<128x64xi32, #tile.reg>]
        to tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "the source memory">:$source,
    Arg<Variadic<AnyType>, "one index per memref dimension: an `index`, or an i32 or i64 tile">:$indices,
    Arg<Optional<Tile_I1Tile>, "the elements to read; none: all">:$mask);
  let results = (outs Res<Tile_AnyTile, "the gathered elements; 0 where nothing is read">:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict
    `:` type($source) (`[` type($indices)^ `]`)? `to` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_Op<"scatter", [
    AttrSizedOperandSegments, NamedOpInterface, AddsToMemoryOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "scatters a tile's elements to a memref";
  let description = [{
    The inverse of `tile.gather`, with the same index operands. Elements whose
    `mask` is false, or whose indices are outside the memref, are dropped. No
    two elements may have the same address; the interpreter checks this. The
    plan assigns the op to a role by its `name`, as it does stores.

    With `add`, f32 elements are added to memory and several elements may have
    the same address. The order of the additions is unspecified. If the indices
    are uniform along a dimension of the tile, each thread sums its elements
    along that dimension before the atomic add. If the indices are scalars or
    results of `tile.diagonals`, each warp first sums its elements per relative
    position and then combines adjacent positions that share an address. The
    value must have more than one row, because all warps hold copies of a tile
    with one row.

    With `add exact`, the sums do not depend on the order of additions. The
    memref has an additional first dimension of 33 i64 bins. Bin `k` accumulates
    the elements whose biased f32 exponent is in `[8 k, 8 k + 7]`, as multiples
    of `2^(8 k - 150)`; it holds up to 2^32 elements without overflow. The last
    bin counts special values: 1 for each positive infinity, 2^32 for each
    negative infinity, and both for each NaN. Source: Collange et al., Numerical
    reproducibility for the parallel reduction on multi- and many-core
    architectures (2015), after Kulisch's long accumulator.

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
    Arg<AnyMemRef, "the target memory">:$target,
    Arg<Variadic<AnyType>, "one index per memref dimension, an `index` or an i32 or i64 tile; none for the bin dimension of exact sums">:$indices,
    Arg<Optional<Tile_I1Tile>, "the elements to write; none: all">:$mask,
    Arg<UnitAttr, "adds the elements to memory">:$add,
    Arg<UnitAttr, "sums do not depend on the order of additions">:$exact,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan refers to this op">:$name);
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

def Tile_CopyRowsOp : Tile_Op<"copy_rows", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "copies slices of memrefs to other memrefs";
  let description = [{
    Copies `source[i..., :, ...]` to `target[j..., :, ...]` for each pair of a
    source and a target. All sources have the indices `i`, all targets the
    indices `j`; the remaining dimensions are copied as a whole. They must have
    the same sizes in the source and the target of a pair. If an index is
    outside of its memref, the pair is not copied. Sources and targets must not
    overlap.

    The threads of a CTA share the elements. If the last dimensions are
    contiguous, the launch aligns rows to 16 bytes, and their size is a multiple
    of that, each access has 16 bytes. The loads of all pairs precede the
    stores, as far as registers allow. Kernels with roles do not support the op.

    Example:
    ```mlir
    tile.copy_rows %k, %v[%token] to %keys, %values[%page, %row]
      : memref<?x8x128xbf16, strided<[?, ?, 1]>>, memref<?x8x128xbf16, strided<[?, ?, 1]>>
      to memref<?x64x8x128xbf16, strided<[?, ?, ?, 1]>>, memref<?x64x8x128xbf16, strided<[?, ?, ?, 1]>>
    ```
  }];
  let arguments = (ins
    Arg<Variadic<AnyMemRef>, "the memory to read">:$sources,
    Arg<Variadic<Index>, "the leading indices of the copied slice of each source">:$sourceIndices,
    Arg<Variadic<AnyMemRef>, "the memory to write, one for each source">:$targets,
    Arg<Variadic<Index>, "the leading indices of the written slice of each target">:$targetIndices);
  let assemblyFormat = [{
    $sources `[` $sourceIndices `]` `to` $targets `[` $targetIndices `]` attr-dict
    `:` type($sources) `to` type($targets)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [
    AttrSizedOperandSegments, NamedOpInterface, AddsToMemoryOpInterface,
    DeclareOpInterfaceMethods<RowsOpInterface, ["getRowTile", "getRowUnit"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "stores a tile to a memref";
  let description = [{
    The inverse of `tile.load`. Elements outside the memref are dropped, and
    with `limit` so are elements at or after index `limit` of memref dimension
    `dims[0]`. `fold`, `fragments` and `by_register` address memory as in
    `tile.load`. With `add`, f32 elements are added to memory atomically; the
    order of additions from several stores is unspecified.

    Example:
    ```mlir
    tile.store "out" %o, %O[%b, %h, %i, %c0] limit(%end) dims [2, 3]
      : tensor<128x64xbf16, #tile.reg>, memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the stored elements">:$value,
    Arg<AnyMemRef, "the target memory">:$target,
    Arg<Variadic<Index>, "position of the tile's first element: one index per memref dimension">:$indices,
    Arg<Optional<Index>, "exclusive upper bound of the valid indices of `dims[0]`">:$limit,
    Arg<DenseI64ArrayAttr, "the memref dimensions of the tile's rows and columns; -1: none">:$dims,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "[d, n] or [d, n, m]: n consecutive rows run along dimension d, of which m exist">:$fold,
    Arg<UnitAttr, "memory is in the order of MMA accumulator fragments">:$fragments,
    Arg<UnitAttr, "fragments store each register of all lanes contiguously">:$by_register,
    Arg<UnitAttr, "adds the elements to memory">:$add,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops refer to this op">:$name);
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
  let summary = "matrix multiply-accumulate";
  let description = [{
    Computes `result = acc + a * b`. `a` is `MxK`, or `KxM` with `transpose_a`;
    `b` is `KxN`, or `NxK` with `transpose_b`. Products and sums are f32. The
    order of additions is unspecified.

    With `columns(c)`, `b` has more columns than the accumulator, and the op
    uses `N` columns of `b` starting at `c`. With `rows(r)`, `a` is transposed
    and has more rows than the accumulator, and the op uses `M` of them starting
    at `r`. Several dots can thus use slices of an operand that another dot uses
    whole.

    Example:
    ```mlir
    %s = tile.dot "s" %q, %k, %zero transpose_b
      : tensor<128x64xbf16, #tile.reg>, tensor<64x64xbf16, #tile.reg>, tensor<128x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "first operand: MxK, or KxM if transposed">:$a,
    Arg<Tile_AnyTile, "second operand: KxN, or NxK if transposed">:$b,
    Arg<Tile_F32Tile, "accumulator: MxN">:$acc,
    Arg<UnitAttr, "`a` is transposed">:$transposeA,
    Arg<UnitAttr, "`b` is transposed">:$transposeB,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops refer to this op">:$name,
    Arg<OptionalAttr<I64Attr>, "first row of the slice of a transposed `a`">:$firstRow,
    Arg<OptionalAttr<I64Attr>, "first column of the slice of `b`">:$firstColumn);
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

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "transposes a loaded or streamed tile";
  let description = [{
    `result[r, c] = source[c, r]`. The source is a load or a stream, as the
    second operand of a dot is. A dot that reads the result reads the source in
    the other order, so this costs nothing. All other ops get the transposed
    tile in registers.

    Some MMA units read an operand in one order only: wgmma reads 8-bit operands
    with the summed dimension contiguous (PTX ISA, matrix descriptors of wgmma).
    A role can then load V in one order, transpose it, and pass it on as a
    stream.

    Example:
    ```mlir
    %v = tile.load "v" %V[%j, %c0] dims [0, 1]
      : memref<?x128xf8E4M3FN, strided<[?, 1]>> to tensor<64x128xf8E4M3FN, #tile.reg>
    %t = tile.transpose %v : tensor<64x128xf8E4M3FN, #tile.reg> to tensor<128x64xf8E4M3FN, #tile.reg>
    %vt = tile.stream "vt" %t : tensor<128x64xf8E4M3FN, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<Tile_AnyTile, "the tile, a load or a stream: MxN">:$source);
  let results = (outs Res<Tile_AnyTile, "the transposed tile: NxM">:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Tile_StreamOp : Tile_Op<"stream", [
    Pure, NamedOpInterface, SameOperandsAndResultType]> {
  let summary = "passes a computed tile through shared memory";
  let description = [{
    Returns its operand. `name` identifies the stream, as for a load. The role
    that computes the tile writes it to a stage of the stream in shared memory,
    and the dots that use the result, transposed or not, read it from there.
    These dots may belong to another role. An op that needs the tile in
    registers must use the operand instead.

    If the plan marks the stream as `staged`, ops other than dots may use the
    result: another role loads the tile back into registers, or TMA stores it to
    global memory. The second operand of a dot and a transposed first operand
    must be loads or streams. For example, dS of the backward pass is a stream
    that the dK product reads as is and the dQ product reads transposed.

    Example:
    ```mlir
    %shared = tile.stream "ds" %ds : tensor<128x64xbf16, #tile.reg>
    %dq = tile.dot "dq" %shared, %k, %zero transpose_a
      : tensor<128x64xbf16, #tile.reg>, tensor<128x64xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the computed tile">:$value,
    Arg<OptionalAttr<StrAttr>, "the name of the stream">:$name);
  let results = (outs Res<Tile_AnyTile, "the tile in shared memory, for dots">:$result);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Tile_IfAnyOp : Tile_Op<"if_any", [
    SingleBlock, RecursiveMemoryEffects, RecursivelySpeculatable,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "runs its body if the condition holds for any row";
  let description = [{
    The condition of a row holds if any element of that row of `condition` is
    true. If it holds for any row, the results are the values that the body
    yields, else they are `inits`. The body's arguments are `inits`. The body
    must return rows whose condition is false unchanged, because the target may
    evaluate the branch for any subset of the rows, for example per warp. The
    result must not depend on that choice; the interpreter checks this. A
    condition that is known to be true, or false, for all rows folds the op
    away.

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
    Arg<Tile_I1Tile, "rows that require the body">:$condition,
    Arg<Variadic<Tile_AnyTile>, "tiles that the body may update">:$inits);
  let results = (outs Res<Variadic<Tile_AnyTile>, "the updated tiles">:$results);
  let regions = (region
    Described<SizedRegion<1>, "updates the tiles in the rows whose condition holds">:$body);
  let assemblyFormat = [{
    $condition (`init` `(` $inits^ `:` type($inits) `)`)? `:` type($condition)
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_BallotOp : Tile_Op<"ballot", [Pure]> {
  let summary = "packs a column tile of flags into an integer";
  let description = [{
    Bit `c` of the result is column `c` of the operand.

    Example:
    ```mlir
    %bits = tile.ballot %any : tensor<1x32xi1, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<Tile_I1Tile, "one flag per column: 1x32">:$flags);
  let results = (outs Res<I32, "bit `c` is the flag of column `c`">:$bits);
  let assemblyFormat = "$flags attr-dict `:` type($flags)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kColumns = 32;
  }];
}

include "fovea/Dialect/Tile/IR/TileSoftmaxOps.td"

def Tile_ForeachWorkOp : Tile_Op<"foreach_work", [
    DeclareOpInterfaceMethods<LoopLikeOpInterface>]> {
  let summary = "runs its body for each work item of this CTA";
  let description = [{
    There are `count` work items with indices from 0. The CTAs of the grid
    together execute the body exactly once per item, or once per piece of an
    item. The body has side effects only. `schedule` assigns the items to CTAs:

    | schedule | items of CTA `c` of a grid of `G` |
    |---|---|
    | `single` | `c`; the grid has `count` CTAs |
    | `static` | `c`, `c + G`, `c + 2 G`, ... |
    | `dynamic` | `c`, then the next item of a global atomic counter |
    | `shares` | an equal share of the blocks of all items |

    `tile-lower-work` lowers the `single` form, and `warp-distribute-work` the
    others.

    Example:
    ```mlir
    tile.foreach_work %w to %count schedule(static) {
      %x = tile.load %S[%w, %c0] dims [-1, 1] : memref<?x64xf32> to tensor<1x64xf32, #tile.reg>
      tile.store %x, %T[%w, %c0] dims [-1, 1] : tensor<1x64xf32, #tile.reg>, memref<?x64xf32>
    }
    ```

    With `shares`, items have blocks: item `i` has as many as `extent` yields
    for group `i div per`, at least 1. The region has no side effects and may
    read memory, so the host does not know the extents. The blocks of all items
    are numbered consecutively, and share `c` of `G` is that of
    `tile.take_share`. A CTA executes the body once per item of which its share
    has blocks, with the range of blocks from `first` to `end`, exclusive, among
    the item's blocks. This is piece `part` of the item's `parts` pieces. Piece
    `p` is executed by CTA `cta + p`. Only the first and the last item of a
    share may have several pieces. `tile.join` combines what the pieces of an
    item compute.

    With `tiles`, each item of group `n` has as many tiles as that region yields
    for `n`, at least 1, and `extent` yields the blocks of one of them. The body
    is executed for pieces of tiles instead of items. Blocks are numbered by
    group, tile and item, in this order.

    If `extent` yields a second number `u`, at least 1, items are cut at
    multiples of `u` blocks only, whatever the shares. Each `u` blocks, and the
    rest at the end, are a piece. A CTA executes the body for the pieces whose
    first block is in its share. `cta` is then a number below `2 G` that no
    other item has while pieces of this one are executed: `2 c` if CTA `c`
    executes all pieces, and `2 c + 1` if it executes the first one and others
    follow in the next CTAs. So pieces, and what `tile.join` combines in which
    order, depend on the item's blocks and on `u`, but not on other items or on
    the grid.

    ```mlir
    tile.foreach_work %item blocks(%first to %end) part(%part of %parts at %cta) to %count schedule(shares) per(%heads)
      extent(%n: index) {
        %length = memref.load %lengths[%n] : memref<?xindex>
        %blocks = arith.ceildivui %length, %c64 : index
        %some = arith.maxui %blocks, %c1 : index
        tile.yield %some : index
      } do {
      %x = tile.load %S[%item, %first] dims [-1, 1] : memref<?x64xf32> to tensor<1x64xf32, #tile.reg>
    }
    ```
  }];
  let arguments = (ins
    Arg<Index, "the number of work items">:$count,
    Arg<Optional<Index>, "consecutive items with the same extent; with `shares` only">:$per,
    Arg<Plan_WorkSchedule, "assignment of items to CTAs">:$schedule);
  let regions = (region
    Described<SizedRegion<1>, "processes one item or piece; arguments: the item's index and, with `shares`, first, end, part, parts and cta, and, with `tiles`, the tile">:$region,
    Described<MaxSizedRegion<1>, "yields the number of blocks of a group's items and optionally of their pieces; arguments: the group's index and, with `tiles`, the tile; empty without `shares`">:$extent,
    Described<MaxSizedRegion<1>, "yields the number of tiles of a group's items; argument: the group's index; empty: 1">:$tiles);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$count,
                   "::fovea::plan::WorkSchedule":$schedule)>,
    OpBuilder<(ins "::mlir::Value":$count, "::mlir::Value":$per,
                   "bool":$hasTiles)>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBody() { return &getRegion().front(); }
    bool isShared() { return getSchedule() == ::fovea::plan::WorkSchedule::Shares; }
    bool hasTiles() { return !getTiles().empty(); }
    /// With `shares`: the size of a piece does not depend on the shares.
    bool hasFixedPieces() {
      return isShared() &&
             getExtent().front().getTerminator()->getNumOperands() == 2;
    }
    /// The index of the work item that the body processes.
    ::mlir::BlockArgument getItem() { return getBody()->getArgument(0); }
    /// With `shares`: the piece that the body processes.
    ::mlir::BlockArgument getFirst() { return getBody()->getArgument(1); }
    ::mlir::BlockArgument getEnd() { return getBody()->getArgument(2); }
    ::mlir::BlockArgument getPart() { return getBody()->getArgument(3); }
    ::mlir::BlockArgument getParts() { return getBody()->getArgument(4); }
    ::mlir::BlockArgument getCta() { return getBody()->getArgument(5); }
    /// With `tiles`: the tile that the piece is a part of.
    ::mlir::BlockArgument getTile() { return getBody()->getArgument(6); }
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [
    Pure, Terminator, ReturnLike,
    ParentOneOf<["ForeachWorkOp", "SoftmaxSumOp", "ForBlocksOp", "IfAnyOp",
                 "TakeShareOp", "JoinOp"]>]> {
  let summary = "terminator of the regions of tile ops";
  let description = [{
    Yields the region's results.

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
include "fovea/Dialect/Tile/IR/TileShareOps.td"

#endif // FOVEA_DIALECT_TILE_IR_TILEOPS_TD
